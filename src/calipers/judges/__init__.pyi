from calipers.judges.exhibits import exhibits_of as exhibits_of
from calipers.judges.fence import Exhibit as Exhibit
from calipers.judges.judge import ModelJudge as ModelJudge
from calipers.judges.judge import object_of as object_of
from calipers.judges.llm_judge import LLMJudge as LLMJudge
from calipers.judges.llm_judge import OutputConfig as OutputConfig
