from calipers.views.comparison.files import comparisons_json as comparisons_json
from calipers.views.comparison.files import write_comparisons as write_comparisons
from calipers.views.comparison.html import comparisons_html as comparisons_html
from calipers.views.comparison.markdown import comparisons_markdown as comparisons_markdown
from calipers.views.comparison.statement import lead as lead
from calipers.views.comparison.statement import sentence as sentence
from calipers.views.comparison.terminal import comparisons_text as comparisons_text
from calipers.views.comparison.terminal import print_comparisons as print_comparisons
