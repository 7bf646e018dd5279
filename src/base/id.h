#pragma once
// Strongly typed ids: a CandidateId cannot be passed for a DeviceId.
//
//   struct CandidateTag { static constexpr char prefix = 'c'; };
//   using CandidateId = Id<CandidateTag>;        to_string(CandidateId{17}) == "c17"

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace specgen {

template <class Tag>
struct Id {
  std::uint64_t value = 0;

  friend auto operator<=>(Id, Id) = default;
  friend std::string to_string(Id id) { return Tag::prefix + std::to_string(id.value); }
};

// Returns 1, 2, 3...; 0 means "none".
template <class IdType>
class IdSource {
 public:
  IdType next() { return IdType{++last_}; }

 private:
  std::uint64_t last_ = 0;
};

}  // namespace specgen

template <class Tag>
struct std::hash<specgen::Id<Tag>> {
  std::size_t operator()(specgen::Id<Tag> id) const noexcept { return id.value; }
};
