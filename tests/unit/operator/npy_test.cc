#include "operator/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace ringtrue {
namespace {

using namespace std::string_literals;

std::string file_of(const std::string& dictionary, const std::string& body, int major = 1) {
  std::string header = dictionary;
  const std::size_t start = major == 1 ? 10 : 12;
  while ((start + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY"s + char(major) + '\0';
  for (std::size_t i = 8; i < start; ++i) file += char(header.size() >> (8 * (i - 8)) & 0xff);
  return file + header + body;
}

std::string described(const std::string& type, const std::string& shape) {
  return "{'descr': " + type + ", 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class... T>
std::string bytes(T... values) {
  std::string out;
  ((out.append(reinterpret_cast<const char*>(&values), sizeof values)), ...);
  return out;
}

Result<Npy> parse(const std::string& file) {
  return parse_npy({reinterpret_cast<const std::byte*>(file.data()), file.size()});
}

// The dense values as bytes, or the error.
std::string dense(const std::string& file, std::optional<std::uint64_t> length = {},
                  std::uint64_t most = 1 << 20) {
  const auto npy = parse(file);
  if (!npy) return npy.error().what;
  const auto values = dense_values(*npy, length, most);
  if (!values) return values.error().what;
  return {reinterpret_cast<const char*>(values->data()), values->size()};
}

TEST(Npy, ReadsEveryTypeShapeAndVersion) {
  const struct {
    const char *code, *name;
    std::uint64_t size;
  } types[] = {{"'<f2'", "float16", 2},
               {"'<f4'", "float32", 4},
               {"\"<f8\"", "float64", 8},
               {"'<i4'", "int32", 4},
               {"'=i8'", "int64", 8}};
  for (const auto& type : types)
    for (const int version : {1, 2, 3}) {
      const std::string body = std::string(6 * type.size, 'x') + std::string(6 * type.size, 'y');
      const std::string file = file_of(described(type.code, "(3, 4)"), body, version);
      const auto npy = parse(file);
      ASSERT_TRUE(npy) << npy.error().what;
      EXPECT_EQ(npy->type, type.name);
      EXPECT_EQ(npy->value_bytes, type.size);
      EXPECT_EQ(npy->shape, (std::vector<std::uint64_t>{3, 4}));
      EXPECT_EQ(npy->elements, 12u);
      EXPECT_FALSE(npy->pairs);
      EXPECT_EQ(dense(file), body);
    }
  const auto single = parse(file_of(described("'<f4'", "()"), "abcd"));
  ASSERT_TRUE(single);
  EXPECT_TRUE(single->shape.empty());
  EXPECT_EQ(single->elements, 1u);
  EXPECT_EQ(parse(file_of(described("'<f4'", "(0,)"), ""))->elements, 0u);
  EXPECT_EQ(parse(file_of(described("'<f4'", "(2L,)"), "abcdabcd"))->elements, 2u);
  EXPECT_TRUE(parse(file_of("{'shape':(1,),'descr':'<f4','fortran_order':True}", "abcd")));
}

TEST(Npy, ReadsKeysAndValues) {
  const std::string file =
      file_of(described("[('key', '<i4'), ('value', '<f4')]", "(3,)"),
              bytes(std::int32_t(5), 1.5f) + bytes(std::int32_t(0), -2.0f) + bytes(std::int32_t(2), 0.25f));
  const auto npy = parse(file);
  ASSERT_TRUE(npy) << npy.error().what;
  EXPECT_TRUE(npy->pairs);
  EXPECT_EQ(npy->elements, 3u);
  EXPECT_EQ(npy->type, "float32");
  EXPECT_EQ(dense(file), bytes(-2.0f, 0.0f, 0.25f, 0.0f, 0.0f, 1.5f));
  EXPECT_EQ(dense(file, 7), bytes(-2.0f, 0.0f, 0.25f, 0.0f, 0.0f, 1.5f, 0.0f));
  EXPECT_EQ(dense(file, 5), "pair 0 has the key 5, of 5 elements");
  EXPECT_EQ(dense(file, {}, 20), "pair 0 has the key 5, which makes an array of more than 20 bytes");
  EXPECT_EQ(dense(file, 6, 20), "pair 0 has the key 5, which makes an array of more than 20 bytes");
}

TEST(Npy, ReadsAlignedRecords) {
  const std::string file =
      file_of(described("[('k', '<u4'), ('', '|V4'), ('v', '<f8')]", "(1,)"), bytes(1u, 0xffffffffu, 3.5), 2);
  EXPECT_EQ(dense(file), bytes(0.0, 3.5));
  const std::string wide = file_of(described("[('k', '<u8'), ('v', '<i8')]", "(1,)"), bytes(1ull, 7ll));
  EXPECT_EQ(dense(wide), bytes(0ll, 7ll));
  EXPECT_EQ(dense(file_of(described("[('k', '<u8'), ('v', '<i8')]", "(0,)"), ""), 2), bytes(0ll, 0ll));
}

TEST(Npy, RefusesKeysThatAreNone) {
  const std::string pairs = described("[('k', '<i8'), ('v', '<f4')]", "(2,)");
  EXPECT_EQ(dense(file_of(pairs, bytes(std::int64_t(3), 1.0f) + bytes(std::int64_t(-1), 1.0f))),
            "the key of pair 1 is negative");
  EXPECT_EQ(dense(file_of(pairs, bytes(std::int64_t(3), 1.0f) + bytes(std::int64_t(3), 1.0f))),
            "pair 1 has the key 3 again");
  const std::string wide = described("[('k', '<u8'), ('v', '<f4')]", "(1,)");
  EXPECT_EQ(dense(file_of(wide, bytes(~std::uint64_t(0), 1.0f)), {}, 1000),
            "pair 0 has the key 18446744073709551615, which makes an array of more than 1000 bytes");
}

TEST(Npy, SaysWhatItDoesNotRead) {
  const auto what = [](const std::string& type, const std::string& shape = "(1,)") {
    const auto npy = parse(file_of(described(type, shape), std::string(16, 'x')));
    if (npy) return "read"s;
    EXPECT_EQ(npy.error().cause, Cause::bad_input);
    return npy.error().text();
  };
  EXPECT_NE(what("'>f4'").find("big-endian"), std::string::npos);
  for (const char* type : {"'|V2'", "'<u2'"}) {
    EXPECT_NE(what(type).find("bfloat16"), std::string::npos);
    EXPECT_NE(what(type).find("float32"), std::string::npos);
  }
  for (const char* type : {"'|O'", "'<c8'", "'|b1'", "'<u4'", "'<f16'", "''"})
    EXPECT_NE(what(type).find("not supported"), std::string::npos) << type;
  EXPECT_NE(what("[('v', '<f4')]").find("not a key"), std::string::npos);
  EXPECT_NE(what("[('k', '<i4')]").find("records of 1 fields"), std::string::npos);
  EXPECT_NE(what("[('k', '<i4'), ('v', '<f4'), ('w', '<f4')]").find("records of 3 fields"),
            std::string::npos);
  EXPECT_NE(what("[('k', '<i4'), ('v', '<f4', (2,))]").find("an array in each record"), std::string::npos);
  EXPECT_NE(what("[('k', '<i4'), ('v', '<f4')]", "(1, 2)").find("2 dimensions"), std::string::npos);
  const auto fortran =
      parse(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", std::string(16, 'x')));
  EXPECT_NE(fortran.error().what.find("Fortran"), std::string::npos);
}

TEST(Npy, TrustsNoLength) {
  const std::string good = file_of(described("'<f4'", "(3,)"), std::string(12, 'x'));
  ASSERT_TRUE(parse(good));
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse(good.substr(0, length))) << length;
  EXPECT_FALSE(parse(good + "x"));
  EXPECT_FALSE(parse("\x93NUMPY\x01\x00\xff\xff{}"s));
  EXPECT_FALSE(parse("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"s));
  EXPECT_FALSE(parse("\x93NUMPY\x02\x00\x01"s));
  EXPECT_FALSE(parse("\x93NUMPY\x04\x00\x02\x00{}"s));
  for (const char* shape : {"(4294967296, 4294967296)", "(18446744073709551615,)", "(18446744073709551616,)",
                            "(-3,)", "(3", "3", "(3,,)", "(1.0,)"})
    EXPECT_FALSE(parse(file_of(described("'<f4'", shape), std::string(12, 'x')))) << shape;
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1, ";
  EXPECT_FALSE(parse(file_of(described("'<f4'", many + ")"), "abcd")));
  EXPECT_FALSE(
      parse(file_of(described("'<f4'", "(3,)") + std::string(70'000, ' '), std::string(12, 'x'), 2)));
}

TEST(Npy, RefusesOtherDictionaries) {
  for (const char* text :
       {"", "{", "{}", "[]", "{'descr': '<f4', 'shape': (1,)}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': maybe, 'shape': (1,)}", "{'descr': '<f4'",
        "{'descr': [], 'fortran_order': False, 'shape': (1,)}", "{'other': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"})
    EXPECT_FALSE(parse(file_of(text, "abcd"))) << text;
  const auto rude = parse(file_of("{'\x1b[31m': 1}", ""));
  EXPECT_EQ(rude.error().what.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ringtrue
