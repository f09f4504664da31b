#include "data/readers/idx.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/file.h"
#include "data/readers/found_file.h"

namespace muster {
namespace {

std::uint32_t big_endian_32(const std::uint8_t* in) {
  return std::uint32_t{in[0]} << 24 | std::uint32_t{in[1]} << 16 | std::uint32_t{in[2]} << 8 | std::uint32_t{in[3]};
}

std::size_t width_of(IdxArray::Element element) {
  switch (element) {
    case IdxArray::Element::kU8:
      return 1;
    case IdxArray::Element::kI16:
      return 2;
    case IdxArray::Element::kI32:
      return 4;
  }
  return 0;
}

void transpose_images(std::span<std::uint8_t> images, std::size_t rows, std::size_t columns) {
  const std::size_t pixels = rows * columns;
  std::vector<std::uint8_t> in(pixels);
  for (std::size_t at = 0; at < images.size(); at += pixels) {
    std::copy_n(images.begin() + static_cast<std::ptrdiff_t>(at), pixels, in.begin());
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) images[at + c * rows + r] = in[r * columns + c];
    }
  }
}

// The files of one part of a set.
struct Pair {
  std::filesystem::path images;
  std::filesystem::path labels;
};

Result<std::optional<Pair>> find_pair(const std::filesystem::path& folder, const std::string& stem) {
  const auto images = found_file(folder, stem + "-images-idx3-ubyte");
  const auto labels = found_file(folder, stem + "-labels-idx1-ubyte");
  if (!images && !labels) return std::optional<Pair>{};
  if (!images) return failure("{}: has labels but no {}-images-idx3-ubyte[.gz]", folder.string(), stem);
  if (!labels) return failure("{}: has images but no {}-labels-idx1-ubyte[.gz]", folder.string(), stem);
  return std::optional<Pair>(Pair{*images, *labels});
}

// The stem of the EMNIST variant in the folder, e.g. "emnist-byclass"; "" if there is none.
Result<std::string> emnist_stem(const std::filesystem::path& folder) {
  std::set<std::string> stems;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("emnist-")) continue;
    for (const char* part : {"-train-images-idx3-ubyte", "-test-images-idx3-ubyte"}) {
      if (const std::size_t at = name.find(part); at != std::string::npos) stems.insert(name.substr(0, at));
    }
  }
  if (error) return failure("{}: cannot list the folder: {}", folder.string(), error.message());
  if (stems.size() > 1) {
    return failure("{}: holds both {} and {}, want one variant per folder", folder.string(), *stems.begin(),
                   *std::next(stems.begin()));
  }
  return stems.empty() ? std::string() : *stems.begin();
}

Result<Samples> read_pair(const Pair& pair, const IdxOptions& options) {
  MUSTER_ASSIGN(std::vector<std::uint8_t> images, read_file(pair.images));
  MUSTER_ASSIGN(const std::vector<std::uint8_t> labels, read_file(pair.labels));
  auto samples = parse_idx_samples(std::move(images), labels, options);
  if (!samples) return std::move(samples).error().within(pair.images.string());
  return samples;
}

// Writers of the training images as clients, checked against the labels that are there already.
Status attach_writers(const std::filesystem::path& folder, RawData& data) {
  const auto path = found_file(folder, "qmnist-train-labels-idx2-int");
  if (!path) return failure("{}: qmnist-train-labels-idx2-int[.gz] is missing, it names the writers", folder.string());
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(*path));
  auto parsed = parse_qmnist_labels(bytes);
  if (!parsed) return std::move(parsed).error().within(path->string());
  if (parsed->labels.size() != data.train.size()) {
    return failure("{}: {} rows for {} training images", path->string(), parsed->labels.size(), data.train.size());
  }
  std::map<std::uint32_t, std::uint32_t> clients;
  for (const std::uint32_t writer : parsed->writers) clients.try_emplace(writer, 0);
  for (auto& [writer, client] : clients) {
    client = static_cast<std::uint32_t>(data.client_names.size());
    data.client_names.push_back(fmt::format("writer {}", writer));
  }
  data.train_clients.resize(data.train.size());
  for (std::size_t row = 0; row < data.train.size(); ++row) {
    if (parsed->labels[row] != data.train.labels[row]) {
      return failure("{}: row {}: class {}, but the image's label is {}: not the labels of these images",
                     path->string(), row, parsed->labels[row], data.train.labels[row]);
    }
    data.train_clients[row] = clients[parsed->writers[row]];
  }
  return {};
}

}  // namespace

std::int32_t IdxArray::at(std::size_t index) const {
  const std::uint8_t* in = payload.data() + index * width_of(element);
  switch (element) {
    case Element::kU8:
      return in[0];
    case Element::kI16:
      return static_cast<std::int16_t>(in[0] << 8 | in[1]);
    case Element::kI32:
      return static_cast<std::int32_t>(big_endian_32(in));
  }
  return 0;
}

Result<IdxArray> parse_idx(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 4) return failure("{} bytes are too few for an IDX header", bytes.size());
  if (bytes[0] != 0 || bytes[1] != 0) {
    return failure("wrong magic {:02x}{:02x}{:02x}{:02x}, an IDX file starts with 0000", bytes[0], bytes[1], bytes[2],
                   bytes[3]);
  }
  IdxArray array;
  switch (bytes[2]) {
    case 0x08:
      array.element = IdxArray::Element::kU8;
      break;
    case 0x0b:
      array.element = IdxArray::Element::kI16;
      break;
    case 0x0c:
      array.element = IdxArray::Element::kI32;
      break;
    default:
      return failure("wrong magic: element type {:02x}, want 08 (u8), 0b (i16) or 0c (i32)", bytes[2]);
  }
  const std::size_t rank = bytes[3];
  if (rank == 0) return failure("wrong magic: no dimensions");
  const std::size_t header = 4 + 4 * rank;
  if (bytes.size() < header) {
    return failure("truncated header: {} bytes, {} dimensions need {}", bytes.size(), rank, header);
  }
  // Every factor is below 2^32 and the product is kept below 2^60, so neither step can overflow.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  std::uint64_t count = 1;
  bool too_large = false;
  bool empty = false;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::uint32_t size = big_endian_32(bytes.data() + 4 + 4 * d);
    array.dims.push_back(size);
    empty = empty || size == 0;
    if (size != 0 && count > kMost / size) too_large = true;
    if (!too_large && size != 0) count *= size;
  }
  if (empty) count = 0;
  if (too_large && !empty) return failure("the product of the dimensions {} overflows", fmt::join(array.dims, " x "));
  const std::uint64_t want = count * width_of(array.element);
  const std::uint64_t have = bytes.size() - header;
  if (have < want) return failure("truncated: {} bytes of data, {} need {}", have, fmt::join(array.dims, " x "), want);
  if (have > want) {
    return failure("{} trailing bytes: {} bytes of data, {} need {}", have - want, have, fmt::join(array.dims, " x "),
                   want);
  }
  array.count = count;
  array.payload = bytes.subspan(header);
  return array;
}

Result<Samples> parse_idx_samples(std::vector<std::uint8_t> images, std::span<const std::uint8_t> labels,
                                  const IdxOptions& options) {
  auto image_array = parse_idx(images);
  if (!image_array) return std::move(image_array).error().within("images");
  auto label_array = parse_idx(labels);
  if (!label_array) return std::move(label_array).error().within("labels");
  if (image_array->element != IdxArray::Element::kU8 || image_array->dims.size() != 3) {
    return failure("images: {} dimensions, want 3 (count, height, width) of u8", image_array->dims.size());
  }
  if (label_array->dims.size() != 1) return failure("labels: {} dimensions, want 1", label_array->dims.size());
  const std::size_t count = image_array->dims[0];
  if (label_array->count != count) return failure("{} images but {} labels", count, label_array->count);
  if (count == 0) return failure("no images");
  if (image_array->count == 0) return failure("images: of {} x {} pixels", image_array->dims[1], image_array->dims[2]);

  Samples samples;
  samples.storage = Samples::Storage::kBytes;
  const std::uint32_t rows = image_array->dims[1];
  const std::uint32_t columns = image_array->dims[2];
  samples.shape = options.transposed ? Shape{columns, rows, 1} : Shape{rows, columns, 1};
  samples.labels.resize(count);
  std::int32_t largest = 0;
  for (std::size_t row = 0; row < count; ++row) {
    const std::int32_t label = label_array->at(row);
    if (label < 0 || (options.classes > 0 && static_cast<std::uint32_t>(label) >= options.classes)) {
      if (options.classes == 0) return failure("labels: row {}: label {}, want 0 or more", row, label);
      return failure("labels: row {}: label {}, want 0..{} ({} classes)", row, label, options.classes - 1,
                     options.classes);
    }
    largest = std::max(largest, label);
    samples.labels[row] = label;
  }
  // A guessed number of classes sizes the network, so a stray label must not make it enormous.
  constexpr std::int32_t kMostClasses = 65536;
  if (largest >= kMostClasses) return failure("labels: label {} is too large, want 0..{}", largest, kMostClasses - 1);
  samples.classes = options.classes > 0 ? options.classes : static_cast<std::uint32_t>(largest) + 1;
  const std::size_t header = images.size() - image_array->payload.size();
  images.erase(images.begin(), images.begin() + static_cast<std::ptrdiff_t>(header));
  samples.bytes = std::move(images);
  if (options.transposed) transpose_images(samples.bytes, rows, columns);
  return samples;
}

Result<QmnistLabels> parse_qmnist_labels(std::span<const std::uint8_t> bytes) {
  MUSTER_ASSIGN(const IdxArray array, parse_idx(bytes));
  if (array.element != IdxArray::Element::kI32 || array.dims.size() != 2 || array.dims[1] != 8) {
    return failure("not QMNIST labels: {} of other than int32 rows of 8", fmt::join(array.dims, " x "));
  }
  QmnistLabels table;
  const std::size_t count = array.dims[0];
  table.labels.resize(count);
  table.writers.resize(count);
  for (std::size_t row = 0; row < count; ++row) {
    table.labels[row] = array.at(row * 8);
    const std::int32_t writer = array.at(row * 8 + 2);
    if (table.labels[row] < 0 || table.labels[row] > 9) {
      return failure("row {}: class {}, want 0..9", row, table.labels[row]);
    }
    if (writer < 0) return failure("row {}: writer {}, want 0 or more", row, writer);
    table.writers[row] = static_cast<std::uint32_t>(writer);
  }
  return table;
}

Result<RawData> read_idx_folder(const std::filesystem::path& folder, const IdxOptions& options) {
  MUSTER_ASSIGN(std::optional<Pair> train, find_pair(folder, "train"));
  MUSTER_ASSIGN(std::optional<Pair> test, find_pair(folder, "t10k"));
  if (!train && !test) {
    MUSTER_ASSIGN(const std::string stem, emnist_stem(folder));
    if (stem.empty()) {
      return failure(
          "{}: no IDX files, want {{train,t10k}}-{{images-idx3,labels-idx1}}-ubyte[.gz] or "
          "emnist-*-{{train,test}}-{{images-idx3,labels-idx1}}-ubyte[.gz]",
          folder.string());
    }
    MUSTER_ASSIGN(train, find_pair(folder, stem + "-train"));
    MUSTER_ASSIGN(test, find_pair(folder, stem + "-test"));
  }
  RawData data;
  if (!train) std::swap(train, test);
  MUSTER_ASSIGN(data.train, read_pair(*train, options));
  if (test) {
    MUSTER_ASSIGN(data.test, read_pair(*test, options));
    if (data.test.shape != data.train.shape) {
      return failure("{}: images of {} x {}, but those of training have {} x {}", test->images.string(),
                     data.test.shape.height, data.test.shape.width, data.train.shape.height, data.train.shape.width);
    }
    data.train.classes = data.test.classes = std::max(data.train.classes, data.test.classes);
  }
  if (options.writers) MUSTER_TRY(attach_writers(folder, data));
  return data;
}

}  // namespace muster
