from calipers.viewer.serving import make_app as make_app
from calipers.viewer.serving import serve as serve
