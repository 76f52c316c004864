// What of {fmt} is not in its headers. Where Debian's shared library has instantiated a template, so must
// this.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template FMT_API char decimal_point_impl<char>(locale_ref);
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal<float>(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal<double>(double) noexcept;

}  // namespace detail
FMT_END_NAMESPACE
