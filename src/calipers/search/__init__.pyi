from calipers.search.factors import Factors as Factors
from calipers.search.objective import Objective as Objective
from calipers.search.proposal import Proposal as Proposal
from calipers.search.random_draws import RandomDraws as RandomDraws
from calipers.search.space import Space as Space
from calipers.search.strategy import Strategy as Strategy
from calipers.search.trial_outcome import Outcome as Outcome
