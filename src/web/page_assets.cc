#include "web/page_assets.h"

#include <array>

#include "report/html_page.h"

namespace muster {

// Of the files in page/ (CMakeLists.txt).
extern const char kPageHtml[];
extern const char kPageCss[];
extern const char kPageJs[];
extern const char kPageElementsJs[];
extern const char kPageLiveJs[];
extern const char kPageListJs[];
extern const char kPageRunJs[];
extern const char kPageCompareJs[];
extern const char kPageMusterSvg[];

std::span<const PageAsset> page_assets() {
  constexpr const char* kScript = "text/javascript; charset=utf-8";
  constexpr const char* kStyle = "text/css; charset=utf-8";
  static const std::array assets{PageAsset{"page.css", kStyle, kPageCss},
                                 PageAsset{"page.js", kScript, kPageJs},
                                 PageAsset{"elements.js", kScript, kPageElementsJs},
                                 PageAsset{"live.js", kScript, kPageLiveJs},
                                 PageAsset{"list.js", kScript, kPageListJs},
                                 PageAsset{"run.js", kScript, kPageRunJs},
                                 PageAsset{"compare.js", kScript, kPageCompareJs},
                                 PageAsset{"muster.svg", "image/svg+xml", kPageMusterSvg},
                                 PageAsset{"chart.js", kScript, chart_js()},
                                 PageAsset{"charts.js", kScript, charts_js()},
                                 PageAsset{"charts.css", kStyle, charts_css()}};
  return assets;
}

std::string_view page_html() {
  return kPageHtml;
}

}  // namespace muster
