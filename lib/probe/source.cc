#include "probe/source.h"

#include <fmt/format.h>

namespace ringtrue::probe {
namespace {

// What a map has of `key`; else the error that was recorded, else that there is none.
template <class Map>
Result<typename Map::mapped_type> look_up(const Map& map, const std::string& key,
                                          const std::map<std::string, Error>& errors) {
  if (const auto it = map.find(key); it != map.end()) return it->second;
  if (const auto it = errors.find(key); it != errors.end()) return tl::unexpected(it->second);
  return fail(Cause::bad_input, fmt::format("{} is not in the recording", key));
}

template <class T, class Map>
Result<T> keep(Result<T> result, const std::string& key, Map& map, std::map<std::string, Error>& errors) {
  if (result) map[key] = *result;
  // What does not exist is not worth a line: its absence says the same.
  else if (result.error().cause != Cause::bad_input)
    errors[key] = result.error();
  return result;
}

}  // namespace

RecordedSource::RecordedSource(const Recording& recording, bool later)
    : recording_(recording), later_(later) {}

Result<std::string> RecordedSource::read(const std::string& path) {
  if (later_) {
    const auto it = recording_.later_files.find(path);
    if (it != recording_.later_files.end()) return it->second;
  }
  return look_up(recording_.files, path, recording_.errors);
}

Result<std::vector<std::string>> RecordedSource::list(const std::string& path) {
  return look_up(recording_.folders, path, recording_.errors);
}

Result<std::string> RecordedSource::link(const std::string& path) {
  return look_up(recording_.links, path, recording_.errors);
}

Result<std::string> RecordedSource::answer(std::string_view library) {
  const std::string key(library);
  if (later_) {
    const auto it = recording_.later_answers.find(key);
    if (it != recording_.later_answers.end()) return it->second;
  }
  return look_up(recording_.answers, key, recording_.errors);
}

RememberingSource::RememberingSource(Source& inner, Recording& recording, bool later)
    : inner_(inner), recording_(recording), later_(later) {}

Result<std::string> RememberingSource::read(const std::string& path) {
  return keep(inner_.read(path), path, later_ ? recording_.later_files : recording_.files, recording_.errors);
}

Result<std::vector<std::string>> RememberingSource::list(const std::string& path) {
  return keep(inner_.list(path), path, recording_.folders, recording_.errors);
}

Result<std::string> RememberingSource::link(const std::string& path) {
  return keep(inner_.link(path), path, recording_.links, recording_.errors);
}

Result<std::string> RememberingSource::answer(std::string_view library) {
  const std::string key(library);
  auto result = inner_.answer(library);
  // Of a library the absence is worth a line: it says what to install.
  if (result)
    (later_ ? recording_.later_answers : recording_.answers)[key] = *result;
  else if (!later_)
    recording_.errors[key] = result.error();
  return result;
}

}  // namespace ringtrue::probe
