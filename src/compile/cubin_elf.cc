// SPDX-License-Identifier: Apache-2.0
// ELF facts as measured on NVRTC 13.0's cubins for sm_90a and sm_100a; docs/gates.md names them.
#include "compile/cubin_elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace kf {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint8_t kEntryFlag = 0x10;  // in st_other of an entry's symbol
constexpr std::uint8_t kFormatSized = 4;   // .nv.info record: u8 format, u8 attribute, u16 bytes, then the bytes
constexpr std::uint8_t kMaxThreads = 0x05, kFrameSize = 0x11, kParameterBytes = 0x19, kRegisterCount = 0x2f;

class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::span<const std::byte> content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size() ||
        bytes_.size() - section.sh_offset < section.sh_size) {
      return {};
    }
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  // A zero-terminated name in a string table.
  static std::string name_in(std::span<const std::byte> table, std::uint64_t offset) {
    if (offset >= table.size()) {
      return {};
    }
    const char* start = reinterpret_cast<const char*>(table.data()) + offset;
    return std::string(start, ::strnlen(start, table.size() - offset));
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Section {
  std::string name;
  Elf64_Shdr header;
};

struct InfoRecord {
  std::uint8_t attribute = 0;
  std::span<const std::byte> value;
};

std::uint32_t word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint32_t value = 0;
  if (bytes.size() >= 4 * (index + 1)) {
    std::memcpy(&value, bytes.data() + 4 * index, 4);
  }
  return value;
}

// Records of other formats hold their value in the two bytes behind the attribute.
std::vector<InfoRecord> info_records(std::span<const std::byte> bytes) {
  std::vector<InfoRecord> records;
  while (bytes.size() >= 4) {
    const auto format = static_cast<std::uint8_t>(bytes[0]);
    const auto attribute = static_cast<std::uint8_t>(bytes[1]);
    std::uint16_t size = 0;
    std::memcpy(&size, bytes.data() + 2, 2);
    const std::size_t payload = format == kFormatSized ? size : 0;
    if (bytes.size() - 4 < payload) {
      break;
    }
    records.push_back({attribute, format == kFormatSized ? bytes.subspan(4, payload) : bytes.subspan(2, 2)});
    bytes = bytes.subspan(4 + payload);
  }
  return records;
}

OrError<std::vector<Section>> sections_of(const Elf& elf) {
  const auto bad = [](const char* what) { return std::unexpected(Error{"cubin", what, ""}); };
  const auto header = elf.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
    return bad("not an ELF64 file");
  }
  if (header->e_machine != kMachineCuda) {
    return bad("an ELF file for another machine than CUDA");
  }
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = elf.at<Elf64_Shdr>(header->e_shoff + i * header->e_shentsize);
    if (!section) {
      return bad("its section table is cut off");
    }
    sections.push_back({"", *section});
  }
  if (header->e_shstrndx >= sections.size()) {
    return bad("it has no section names");
  }
  const std::span<const std::byte> names = elf.content(sections[header->e_shstrndx].header);
  for (Section& section : sections) {
    section.name = Elf::name_in(names, section.header.sh_name);
  }
  return sections;
}

bool is_variable_section(std::string_view name) {
  return name.starts_with(".nv.global") || name.starts_with(".nv.constant3");
}

struct Symbols {
  CubinFacts facts;
  std::map<std::uint32_t, std::string> entry_by_index;
};

Symbols read_symbols(const Elf& elf, const std::vector<Section>& sections) {
  Symbols symbols;
  const auto table = std::ranges::find(sections, std::string(".symtab"), &Section::name);
  if (table == sections.end() || table->header.sh_link >= sections.size()) {
    return symbols;
  }
  const std::span<const std::byte> content = elf.content(table->header);
  const std::span<const std::byte> names = elf.content(sections[table->header.sh_link].header);
  for (std::uint32_t i = 1; (i + 1) * sizeof(Elf64_Sym) <= content.size(); ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, content.data() + i * sizeof symbol, sizeof symbol);
    const std::string name = Elf::name_in(names, symbol.st_name);
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF) {
      // The driver's own: reserved shared memory. Anything else would need a linker.
      if (!name.starts_with(".nv.reservedSmem") && !name.empty() && type != STT_SECTION) {
        symbols.facts.undefined.push_back(name);
      }
    } else if (type == STT_FUNC && symbol.st_shndx < sections.size() &&
               sections[symbol.st_shndx].name.starts_with(".text.")) {
      if ((symbol.st_other & kEntryFlag) != 0) {
        symbols.entry_by_index[i] = name;
        symbols.facts.entries.push_back({name});
      } else {
        symbols.facts.functions.push_back(name);
      }
    } else if (type == STT_OBJECT && symbol.st_shndx < sections.size() &&
               is_variable_section(sections[symbol.st_shndx].name)) {
      symbols.facts.variables.push_back({name, sections[symbol.st_shndx].name, symbol.st_size});
    }
  }
  return symbols;
}

}  // namespace

OrError<CubinFacts> read_cubin(std::span<const std::byte> cubin) {
  const Elf elf(cubin);
  const OrError<std::vector<Section>> sections = sections_of(elf);
  if (!sections) {
    return std::unexpected(sections.error());
  }
  Symbols symbols = read_symbols(elf, *sections);
  const auto entry_named = [&](std::string_view name) {
    const auto found = std::ranges::find(symbols.facts.entries, name, &CubinEntry::name);
    return found == symbols.facts.entries.end() ? nullptr : &*found;
  };
  for (const Section& section : *sections) {
    if (section.name == ".nv.info") {
      for (const InfoRecord& record : info_records(elf.content(section.header))) {
        const auto named = symbols.entry_by_index.find(word(record.value, 0));
        CubinEntry* entry = named == symbols.entry_by_index.end() ? nullptr : entry_named(named->second);
        if (entry != nullptr && record.attribute == kRegisterCount) {
          entry->registers = static_cast<int>(word(record.value, 1));
        } else if (entry != nullptr && record.attribute == kFrameSize) {
          entry->frame_bytes = static_cast<int>(word(record.value, 1));
        }
      }
    } else if (section.name.starts_with(".nv.info.")) {
      CubinEntry* entry = entry_named(std::string_view(section.name).substr(9));
      for (const InfoRecord& record : info_records(elf.content(section.header))) {
        if (entry != nullptr && record.attribute == kMaxThreads) {
          entry->max_threads = static_cast<int>(word(record.value, 0) * word(record.value, 1) * word(record.value, 2));
        } else if (entry != nullptr && record.attribute == kParameterBytes) {
          std::uint16_t bytes = 0;
          std::memcpy(&bytes, record.value.data(), std::min<std::size_t>(2, record.value.size()));
          entry->parameter_bytes = bytes;
        }
      }
    }
  }
  return symbols.facts;
}

}  // namespace kf
