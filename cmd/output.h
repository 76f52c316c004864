// Standard output and standard error, checked.
#pragma once

#include <string>
#include <string_view>

#include "cmd/command.h"
#include "operator/documents/evaluate.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {

// Standard output in pieces. The first failed write (a full disk, a closed pipe) is told on standard error,
// once; everything after it is dropped.
class Output {
 public:
  bool write(std::string_view text);
  // `code`, or Exit::unknown where something could not be written.
  int finish(int code);

 private:
  bool flush();
  std::string buffer_;
  bool failed_ = false;
};

// Writes all of `text`; the command's exit code is `code` unless that failed.
int print(std::string_view text, int code);

// "ringtrue: ..." on standard error, in one line.
void complain(const Error& error);

// Ends a command that has nothing to show: the line on standard error, with --json a document with `error`.
int failed(const Context& context, const Error& error);
int failed(const Context& context, const ops::Trouble& trouble);

// Ends a command that has something to show: its error, if any, on standard error; the document as JSON or as
// text.
template <class Document>
int show(const Context& context, const Document& document, int code) {
  if constexpr (requires { document.error->error; })
    if (document.error) complain(document.error->error);
  return print(context.common.json ? report::json(document) : report::text(document, context.style), code);
}

}  // namespace ringtrue::cmd
