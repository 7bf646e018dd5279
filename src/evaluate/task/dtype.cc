#include "evaluate/task/dtype.h"

#include <array>
#include <bit>
#include <string>

#include "base/assert.h"
#include "base/text.h"
#include "evaluate/task/element_codec.h"

namespace specgen {
namespace {

struct DtypeFacts {
  std::string_view name;
  std::string_view cpu_type;
  std::string_view cuda_type;
  std::size_t size;
  double unit_roundoff;
};

constexpr std::array<DtypeFacts, 7> kFacts{{{"f64", "double", "double", 8, 0x1p-53},
                                            {"f32", "float", "float", 4, 0x1p-24},
                                            {"f16", "_Float16", "__half", 2, 0x1p-11},
                                            {"bf16", "specgen_bf16", "__nv_bfloat16", 2, 0x1p-8},
                                            {"i64", "int64_t", "long long", 8, 0},
                                            {"i32", "int32_t", "int", 4, 0},
                                            {"u8", "uint8_t", "unsigned char", 1, 0}}};

const DtypeFacts& facts(Dtype dtype) {
  return kFacts[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view to_string(Dtype dtype) {
  return facts(dtype).name;
}

Result<Dtype> parse_dtype(std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<Dtype>(i);
    names.emplace_back(kFacts[i].name);
  }
  return fail(ErrorCode::unknown_name,
              "'" + std::string(name) + "' is not a dtype" + did_you_mean(name, names),
              "use one of " + join(names, ", "));
}

std::size_t size_of(Dtype dtype) {
  return facts(dtype).size;
}
bool is_float(Dtype dtype) {
  return facts(dtype).unit_roundoff > 0;
}
double unit_roundoff(Dtype dtype) {
  return facts(dtype).unit_roundoff;
}
std::string_view cpu_type(Dtype dtype) {
  return facts(dtype).cpu_type;
}
std::string_view cuda_type(Dtype dtype) {
  return facts(dtype).cuda_type;
}

void to_doubles(Dtype dtype, std::span<const std::byte> from, std::span<double> into) {
  SG_ASSERT(from.size() == into.size() * size_of(dtype), "as many doubles as elements");
  visit_dtype(dtype, [&]<class Codec>(Codec) {
    const std::byte* tensor = from.data();
    double* values = into.data();
    for (std::size_t i = 0, end = into.size(); i < end; ++i) {
      values[i] = Codec::to_double(stored_at<Codec>(tensor, i));
    }
  });
}

void from_doubles(Dtype dtype, std::span<const double> from, std::span<std::byte> into) {
  SG_ASSERT(into.size() == from.size() * size_of(dtype), "as many elements as doubles");
  visit_dtype(dtype, [&]<class Codec>(Codec) {
    const double* values = from.data();
    std::byte* tensor = into.data();
    for (std::size_t i = 0, end = from.size(); i < end; ++i) {
      store_at<Codec>(tensor, i, Codec::from_real(values[i]));
    }
  });
}

double load(Dtype dtype, std::span<const std::byte> tensor, std::size_t index) {
  SG_ASSERT(index < tensor.size() / size_of(dtype), "an element of the tensor");
  return visit_dtype(dtype, [&]<class Codec>(Codec) {
    return Codec::to_double(stored_at<Codec>(tensor.data(), index));
  });
}

void poison(Dtype dtype, std::span<std::byte> tensor, Poison with) {
  SG_ASSERT(tensor.size() % size_of(dtype) == 0, "whole elements");
  visit_dtype(dtype, [&]<class Codec>(Codec) {
    std::size_t elements = tensor.size() / sizeof(typename Codec::Stored);
    std::byte* bytes = tensor.data();
    auto bits = poison_bits<Codec>(with.secret, 0);
    for (std::size_t i = 0; i < elements; ++i) {
      if constexpr (!kIsFloat<Codec>) bits = poison_bits<Codec>(with.secret, i);
      std::memcpy(bytes + i * sizeof(bits), &bits, sizeof(bits));
    }
  });
}

bool is_poison(Dtype dtype, std::span<const std::byte> tensor, std::size_t index, Poison with) {
  SG_ASSERT(index < tensor.size() / size_of(dtype), "an element of the tensor");
  return visit_dtype(dtype, [&]<class Codec>(Codec) {
    auto bits = poison_bits<Codec>(with.secret, index);
    return std::memcmp(tensor.data() + index * sizeof(bits), &bits, sizeof(bits)) == 0;
  });
}

}  // namespace specgen
