#include "evaluate/task/kernel_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"
#include "evaluate/task/cases.h"
#include "evaluate/task/distribution.h"
#include "evaluate/task/signature.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxAxis = std::int64_t{1} << 40;
constexpr std::int64_t kMaxHiddenElements = std::int64_t{1} << 34;
constexpr std::int64_t kMaxHiddenCases = 64;
constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxOfAKind = 64;  // inputs, axes, cases...

// Names stand in C++ as parameters and in expressions as values, beside these.
constexpr std::array<std::string_view, 5> kTakenNames{"T", "ceildiv", "max", "min", "sizeof_T"};

struct Precision {
  std::string_view name;
  double unit_roundoff;
};
constexpr std::array<Precision, 5> kPrecisions{
    {{"f32", 0x1p-24}, {"tf32", 0x1p-11}, {"f16", 0x1p-11}, {"bf16", 0x1p-8}, {"f64", 0x1p-53}}};

std::string unknown_text(std::string_view what, std::string_view name,
                         std::span<const std::string> known) {
  return fmt::format("'{}' is not {}{}; there are {}", name, what, did_you_mean(name, known),
                     join(known, ", "));
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const Precision& precision : kPrecisions) names.emplace_back(precision.name);
  return names;
}

bool is_identifier(std::string_view name) {
  auto fits = [](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, fits);
}

// A word of C++, or one that every candidate's parameters use.
bool is_reserved(std::string_view name) {
  return identifier_of(name) != name;
}

// Reads task.toml in two rounds: first every key is asked for, so that a misspelt one is reported
// as such; then what the values mean together is looked at.
class TaskReader {
 public:
  TaskReader(TomlFile& file, KernelTask& task) : file_(file), root_(file.root()), task_(task) {}

  Result<void> read(std::string_view variant) {
    read_head(variant);
    read_axes();
    for (TomlTable* table : list("input")) task_.inputs.push_back(tensor(*table, true));
    for (TomlTable* table : list("output")) task_.outputs.push_back(tensor(*table, false));
    for (TomlTable* table : list("scalar")) read_scalar(*table);
    case_tables_ = list("case");
    for (TomlTable* table : case_tables_) read_case(*table);
    read_rest();
    TRY(file_.finish());
    for (const auto& [table, key] : missing_) {
      table->reject(key, fmt::format("'{}' is missing", key));
    }
    check_names();
    check_uses();
    TRY(file_.finish());
    check_cases();
    return file_.finish();
  }

 private:
  void require(TomlTable& table, std::string_view key) {
    if (!table.has(key)) missing_.emplace_back(&table, key);
  }

  std::vector<TomlTable*> list(std::string_view key) {
    std::vector<TomlTable*> tables = root_.tables(key);
    if (tables.size() <= kMaxOfAKind) return tables;
    root_.reject(key, fmt::format("{} of [[{}]]; {} are allowed", tables.size(), key, kMaxOfAKind));
    return {};
  }

  void read_head(std::string_view variant) {
    require(root_, "name");
    task_.name = root_.text("name");
    task_.summary = root_.text("summary");
    std::int64_t level = root_.integer("level", 1);
    if (level < 1 || level > 3) root_.reject("level", "'level' is 1, 2 or 3");
    task_.level = static_cast<int>(std::clamp<std::int64_t>(level, 1, 3));
    std::vector<std::string> names = root_.texts("elements", {"f32"});
    for (const std::string& name : names) {
      auto dtype = parse_dtype(name);
      if (!dtype) {
        root_.reject("elements", dtype.error().context);
      } else if (std::ranges::find(task_.elements, *dtype) != task_.elements.end()) {
        root_.reject("elements", fmt::format("'{}' is listed twice", name));
      } else {
        task_.elements.push_back(*dtype);
      }
    }
    if (task_.elements.empty()) {
      root_.reject("elements", "'elements' is empty");
      return;
    }
    task_.variant = variant.empty() ? std::string(to_string(task_.elements[0])) : variant;
    auto chosen = std::ranges::find(task_.elements, task_.variant,
                                    [](Dtype dtype) { return to_string(dtype); });
    if (chosen == task_.elements.end()) {
      root_.reject("elements", unknown_text("a variant of this task", variant, names));
    } else {
      task_.element = *chosen;
    }
  }

  void read_axes() {
    TomlTable& axes = root_.table("axes");
    std::vector<std::string> names = axes.names();
    if (names.size() > kMaxOfAKind) {
      root_.reject("axes", fmt::format("more than {} axes", kMaxOfAKind));
      return;
    }
    for (const std::string& name : names) {
      TomlTable& table = axes.table(name);
      AxisSpec axis{.name = name};
      axis.multiple = table.integer("multiple", 1);
      if (axis.multiple < 1 || axis.multiple > kMaxAxis) {
        table.reject("multiple", "'multiple' must be within 1 and 2^40");
        axis.multiple = 1;
      }
      if (table.has("hidden")) {
        std::vector<std::int64_t> hidden = table.integers("hidden", {axis.multiple, axis.multiple});
        if (hidden.size() != 2 || hidden[0] < 1 || hidden[1] < hidden[0] || hidden[1] > kMaxAxis) {
          table.reject("hidden", "'hidden' is [least, most], within 1 and 2^40");
        } else if (hidden[1] / axis.multiple * axis.multiple < hidden[0]) {
          table.reject("hidden", fmt::format("no multiple of {} lies within [{}, {}]",
                                             axis.multiple, hidden[0], hidden[1]));
        } else {
          axis.low = hidden[0];
          axis.high = hidden[1];
        }
      } else {
        without_range_.emplace_back(&table);
        axis.low = axis.high = axis.multiple;
      }
      axis_tables_.push_back(&axes);
      task_.axes.push_back(std::move(axis));
    }
  }

  TensorSpec tensor(TomlTable& table, bool is_input) {
    for (const char* key : {"name", "dtype", "shape"}) require(table, key);
    TensorSpec spec{.name = table.text("name"), .dtype = task_.element, .shape = {}, .data = {}};
    std::string dtype = table.text("dtype", "T");
    if (dtype != "T") {
      if (auto known = parse_dtype(dtype)) {
        spec.dtype = *known;
      } else {
        table.reject("dtype", known.error().context + "; it may also be 'T'");
      }
    }
    std::vector<std::string> shape = table.texts("shape");
    if (shape.size() > kMaxRank) {
      table.reject("shape", fmt::format("more than {} dimensions", kMaxRank));
      shape.clear();
    }
    for (const std::string& text : shape) spec.shape.push_back(expression(table, "shape", text));
    if (is_input) {
      require(table, "data");
      std::vector<std::string> data = table.texts("data");
      if (table.has("data") && (data.empty() || data.size() > kMaxOfAKind)) {
        table.reject("data", fmt::format("'data' has 1 to {} distributions", kMaxOfAKind));
      }
      for (const std::string& text : data) read_distribution(table, text, spec);
    }
    names_.push_back({&table, "name", spec.name});
    return spec;
  }

  void read_distribution(TomlTable& table, const std::string& text, TensorSpec& into) {
    auto distribution = parse_distribution(text);
    Result<void> fits = distribution ? check_fits(*distribution, into.dtype)
                                     : std::unexpected(distribution.error());
    if (!fits) {
      table.reject("data", fits.error().context);
    } else {
      into.data.push_back(*distribution);
    }
  }

  void read_scalar(TomlTable& table) {
    require(table, "name");
    require(table, "value");
    ScalarSpec scalar{table.text("name"), table.number("value")};
    if (!std::isfinite(scalar.value)) table.reject("value", "'value' must be finite");
    names_.push_back({&table, "name", scalar.name});
    task_.scalars.push_back(std::move(scalar));
  }

  void read_case(TomlTable& table) {
    PublicCase known;
    TomlTable& axes = table.table("axes");
    for (const std::string& name : axes.names()) known.axes[name] = axes.integer(name, 1);
    known.weight = table.number("weight", 0);
    if (!std::isfinite(known.weight) || known.weight < 0) {
      table.reject("weight", "'weight' must be 0 or more");
    }
    for (const std::string& name : table.texts("backends", {"cpu", "cuda"})) {
      Backend backend = name == "cpu" ? Backend::cpu : Backend::cuda;
      if (name != to_string(backend)) {
        table.reject("backends",
                     unknown_text("a backend", name, std::vector<std::string>{"cpu", "cuda"}));
      } else if (std::ranges::find(known.backends, backend) == known.backends.end()) {
        known.backends.push_back(backend);
      }
    }
    if (known.backends.empty()) table.reject("backends", "'backends' is empty");
    task_.cases.push_back(std::move(known));
  }

  void read_rest() {
    TomlTable& hidden = root_.table("hidden");
    std::int64_t cases = hidden.integer("cases", task_.hidden_cases);
    if (cases < 0 || cases > kMaxHiddenCases) {
      hidden.reject("cases", fmt::format("'cases' must be within 0 and {}", kMaxHiddenCases));
    } else {
      task_.hidden_cases = static_cast<int>(cases);
    }
    task_.hidden_elements = hidden.integer("elements", task_.hidden_elements);
    if (task_.hidden_elements < 1 || task_.hidden_elements > kMaxHiddenElements) {
      hidden.reject("elements", "'elements' must be within 1 and 2^34");
    }

    TomlTable& cost = root_.table("cost");
    task_.bytes = expression(cost, "bytes", cost.text("bytes", "0"));
    task_.flops = expression(cost, "flops", cost.text("flops", "0"));
    task_.rate = cost.text("rate", task_.rate);
    if (task_.rate == "T") task_.rate = to_string(task_.element);
    if (std::ranges::find(kPrecisions, task_.rate, &Precision::name) == kPrecisions.end()) {
      cost.reject("rate", unknown_text("a unit", task_.rate, precision_names()));
    }

    TomlTable& check = root_.table("check");
    task_.check.reduction = expression(check, "reduction", check.text("reduction", "1"));
    task_.check.tolerance = check.number("tolerance", task_.check.tolerance);
    if (!std::isfinite(task_.check.tolerance) || task_.check.tolerance <= 0) {
      check.reject("tolerance", "'tolerance' must be above 0");
    }
    std::string name = check.text("precision", "f32");
    auto precision = std::ranges::find(kPrecisions, name, &Precision::name);
    if (precision == kPrecisions.end()) {
      check.reject("precision", unknown_text("a precision", name, precision_names()));
    } else {
      task_.check.unit_roundoff = precision->unit_roundoff;
    }
    task_.check.sampled = check.flag("sampled");
    task_.check.deterministic = check.flag("deterministic");

    TomlTable& compile = root_.table("compile");
    task_.cpu_flags = compile.texts("cpu_flags");
    for (const std::string& flag : task_.cpu_flags) {
      if (!flag.starts_with('-')) {
        compile.reject("cpu_flags", fmt::format("'{}' is not a flag: it has no '-'", flag));
      }
    }
    task_.vendor = root_.table("vendor").text("torch");
  }

  Expression expression(TomlTable& table, const char* key, std::string_view text) {
    auto parsed = Expression::parse(text);
    if (!parsed) {
      table.reject(key, parsed.error().context);
      return {};
    }
    for (const std::string& name : parsed->names()) uses_.push_back({&table, key, name});
    return *parsed;
  }

  void check_names() {
    if (!is_identifier(task_.name) || is_reserved(task_.name)) {
      root_.reject("name", fmt::format("'{}' cannot name a function of C", task_.name));
    }
    std::vector<Place> all;
    for (std::size_t i = 0; i < task_.axes.size(); ++i) {
      all.push_back({axis_tables_[i], task_.axes[i].name, task_.axes[i].name});
    }
    all.insert(all.end(), names_.begin(), names_.end());
    std::set<std::string> seen{task_.name};
    for (const Place& place : all) {
      bool taken = std::ranges::find(kTakenNames, place.name) != kTakenNames.end() ||
                   place.name.starts_with("specgen") || place.name.starts_with("__") ||
                   is_reserved(place.name);
      if (!is_identifier(place.name)) {
        place.table->reject(place.key, fmt::format("'{}' cannot name a variable of C", place.name));
      } else if (taken) {
        place.table->reject(place.key, fmt::format("'{}' means something else", place.name));
      } else if (!seen.insert(place.name).second) {
        place.table->reject(place.key, fmt::format("the name '{}' is taken", place.name));
      }
    }
    for (TomlTable* axis : without_range_) {
      if (task_.hidden_cases > 0) axis->reject("hidden", "'hidden' is missing: [least, most]");
    }
  }

  // Expressions speak of axes and of sizeof_T alone.
  void check_uses() {
    std::vector<std::string> known{"sizeof_T"};
    for (const AxisSpec& axis : task_.axes) known.push_back(axis.name);
    for (const Place& use : uses_) {
      if (std::ranges::find(known, use.name) != known.end()) continue;
      use.table->reject(
          use.key, fmt::format("'{}' is not an axis{}", use.name, did_you_mean(use.name, known)));
    }
    auto need = [&](bool there, const char* key) {
      if (!there) root_.reject(key, fmt::format("there is no [[{}]]; one is needed", key));
    };
    need(!task_.inputs.empty(), "input");
    need(!task_.outputs.empty(), "output");
    need(!task_.cases.empty(), "case");
  }

  void check_cases() {
    for (std::size_t i = 0; i < task_.cases.size(); ++i) {
      auto made = make_case(task_, task_.cases[i].axes);
      if (made) continue;
      std::string_view why = made.error().context;
      std::string title = task_.title() + ": ";  // the file name has it already
      case_tables_[i]->reject("axes", why.starts_with(title) ? why.substr(title.size()) : why);
    }
  }

  struct Place {
    TomlTable* table;
    std::string key;
    std::string name;
  };

  TomlFile& file_;
  TomlTable& root_;
  KernelTask& task_;
  std::vector<std::pair<TomlTable*, std::string>> missing_;
  std::vector<TomlTable*> without_range_;
  std::vector<TomlTable*> axis_tables_;
  std::vector<TomlTable*> case_tables_;
  std::vector<Place> names_;  // of tensors and scalars
  std::vector<Place> uses_;   // of names in expressions
};

// Empty if the file is not there.
Result<std::string> source(const fs::path& path) {
  auto text = read_file(path, MiB(4));
  if (!text && text.error().code == ErrorCode::file_not_found) return "";
  if (text && trim(*text).empty()) {
    return fail(ErrorCode::bad_task, fmt::format("{}: the file is empty", path.string()));
  }
  return text;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}
bool has_task(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "task.toml", ignored);
}

// In the order of names, without hidden ones.
Result<std::vector<fs::path>> subfolders(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    bool hidden = at->path().filename().native().starts_with('.');
    if (!hidden && is_folder(at->path())) all.push_back(at->path());
  }
  if (error) return fail_errno(folder.string(), error.value());
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::string_view to_string(Backend backend) {
  return backend == Backend::cpu ? "cpu" : "cuda";
}

std::string KernelTask::title() const {
  bool first = elements.empty() || element == elements.front();
  return first ? name : name + ":" + variant;
}

Result<KernelTask> load_task(std::string_view where) {
  std::string_view variant;
  std::size_t colon = where.rfind(':');
  if (colon != std::string_view::npos && !is_folder(where)) {
    variant = where.substr(colon + 1);
    where = where.substr(0, colon);
    if (variant.empty()) {
      return fail(ErrorCode::bad_task, fmt::format("'{}:' names no variant", where));
    }
  }
  KernelTask task;
  task.folder = where;
  fs::path path = task.folder / "task.toml";
  if (!has_task(task.folder)) {
    return fail(ErrorCode::bad_task, fmt::format("{}: there is no such file", path.string()),
                "name a folder that holds a task.toml");
  }
  auto in_task = [](Error error) {
    if (error.code == ErrorCode::bad_config) error.code = ErrorCode::bad_task;
    return std::unexpected(std::move(error));
  };
  auto file = TomlFile::read(path);
  if (!file) return in_task(std::move(file.error()));
  if (auto read = TaskReader(*file, task).read(variant); !read) return in_task(read.error());

  task.reference_source = TRY(source(task.folder / "reference.cc"));
  task.baseline_cc = TRY(source(task.folder / "baseline.cc"));
  task.baseline_cu = TRY(source(task.folder / "baseline.cu"));
  if (task.reference_source.empty()) {
    return fail(ErrorCode::bad_task,
                fmt::format("{}: there is no reference.cc", task.folder.string()));
  }
  if (task.baseline_cc.empty() && task.baseline_cu.empty()) {
    return fail(
        ErrorCode::bad_task,
        fmt::format("{}: there is neither a baseline.cc nor a baseline.cu", task.folder.string()));
  }
  return task;
}

Result<std::vector<ListedTask>> list_tasks(const fs::path& folder) {
  std::vector<fs::path> found;
  if (has_task(folder)) {
    found.push_back(folder);
  } else {
    for (const fs::path& child : TRY(subfolders(folder))) {
      if (has_task(child)) {
        found.push_back(child);
        continue;
      }
      auto below = subfolders(child);  // one that may not be read holds no task of ours
      if (!below) continue;
      std::ranges::copy_if(*below, std::back_inserter(found), has_task);
    }
  }
  std::vector<ListedTask> all;
  for (fs::path& each : found) {
    auto task = load_task(each.string());
    all.push_back({std::move(each), std::move(task)});
  }
  return all;
}

}  // namespace specgen
