#include "evaluate/cpu/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace specgen {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up_to_pages(std::size_t bytes) {
  return (bytes + page_size() - 1) / page_size() * page_size();
}

Result<SharedFile> SharedFile::make(const std::string& name, std::size_t bytes, Pages pages) {
  SharedFile file;
  file.fd_ = Fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.fd_) return fail_errno("memfd_create", errno);
  if (::ftruncate(file.fd_.get(), static_cast<off_t>(bytes)) != 0) {
    return fail_errno("ftruncate", errno);
  }
  if (bytes == 0) return file;
  const int flags = MAP_SHARED | (pages == Pages::at_once ? MAP_POPULATE : 0);
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.fd_.get(), 0);
  if (address == MAP_FAILED) return fail_errno("mmap", errno);
  file.address_ = static_cast<std::byte*>(address);
  file.bytes_ = bytes;
  return file;
}

SharedFile::~SharedFile() {
  if (address_) ::munmap(address_, bytes_);
}

Result<void> SharedFile::seal() {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (::fcntl(fd_.get(), F_ADD_SEALS, kSeals) != 0) return fail_errno("sealing memory", errno);
  return {};
}

}  // namespace specgen
