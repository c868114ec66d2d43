"""All metrics as methods, a line each, in the order of the page of metrics."""

from __future__ import annotations

from .. import metrics
from .._table.table import R
from .method import Metrics, formula_as_method as formula


class AllMetrics(Metrics[R]):
    """All metrics as methods, by family."""

    # counts of relevant documents
    precision = formula(metrics.precision)
    recall = formula(metrics.recall)
    f1 = formula(metrics.f1)
    f_beta = formula(metrics.f_beta)
    set_average_precision = formula(metrics.set_average_precision)
    fall_out = formula(metrics.fall_out)
    hits = formula(metrics.hits)
    false_positives = formula(metrics.false_positives)
    false_negatives = formula(metrics.false_negatives)
    true_negatives = formula(metrics.true_negatives)
    mcc = formula(metrics.mcc)
    jaccard = formula(metrics.jaccard)
    hit_rate = formula(metrics.hit_rate)
    r_precision = formula(metrics.r_precision)

    # user models: readers who stop when satisfied
    err = formula(metrics.err)
    nerr = formula(metrics.nerr)
    pfound = formula(metrics.pfound)
    rbp = formula(metrics.rbp)

    # user models: the costs of documents
    time_biased_gain = formula(metrics.time_biased_gain)
    u_measure = formula(metrics.u_measure)
    ift = formula(metrics.ift)

    # user models: the C/W/L family
    sdcg = formula(metrics.sdcg)
    bpm = formula(metrics.bpm)
    insq = formula(metrics.insq)
    inst = formula(metrics.inst)
    rbp_residual = formula(metrics.rbp_residual)
    nerr8 = formula(metrics.nerr8)
    nerr9 = formula(metrics.nerr9)
    nerr10 = formula(metrics.nerr10)
    nerr11 = formula(metrics.nerr11)

    # novelty and diversity
    alpha_dcg = formula(metrics.alpha_dcg)
    alpha_ndcg = formula(metrics.alpha_ndcg)
    err_ia = formula(metrics.err_ia)
    nerr_ia = formula(metrics.nerr_ia)
    nrbp = formula(metrics.nrbp)
    nnrbp = formula(metrics.nnrbp)
    precision_ia = formula(metrics.precision_ia)
    average_precision_ia = formula(metrics.average_precision_ia)
    subtopic_recall = formula(metrics.subtopic_recall)
    nugget_recall = formula(metrics.nugget_recall)
    d_ndcg = formula(metrics.d_ndcg)
    d_sharp_ndcg = formula(metrics.d_sharp_ndcg)

    # cumulative gain
    cg = formula(metrics.cg)
    mean_label = formula(metrics.mean_label)
    average_relevance_position = formula(metrics.average_relevance_position)
    dcg = formula(metrics.dcg)
    ndcg = formula(metrics.ndcg)
    q_measure = formula(metrics.q_measure)
    graded_average_precision = formula(metrics.graded_average_precision)

    # fairness of exposure
    group_exposure = formula(metrics.group_exposure)
    awrf = formula(metrics.awrf)
    ndkl = formula(metrics.ndkl)
    rnd = formula(metrics.rnd)
    rkl = formula(metrics.rkl)
    rrd = formula(metrics.rrd)
    demographic_parity = formula(metrics.demographic_parity)
    exposed_utility_ratio = formula(metrics.exposed_utility_ratio)
    realized_utility_ratio = formula(metrics.realized_utility_ratio)

    # metrics of the judgments
    judged = formula(metrics.judged)
    pairwise_accuracy = formula(metrics.pairwise_accuracy)
    inferred_ap = formula(metrics.inferred_ap)
    xinf_ap = formula(metrics.xinf_ap)
    stat_ap = formula(metrics.stat_ap)
    num_retrieved = formula(metrics.num_retrieved)
    num_relevant = formula(metrics.num_relevant)

    # recommenders: popularity
    mean_popularity = formula(metrics.mean_popularity)
    popularity_percentile = formula(metrics.popularity_percentile)
    tail_share = formula(metrics.tail_share)

    # recommenders: diversity of lists
    ild = formula(metrics.ild)
    category_diversity = formula(metrics.category_diversity)
    category_entropy = formula(metrics.category_entropy)

    # recommenders: novelty
    novelty = formula(metrics.novelty)
    surprisal = formula(metrics.surprisal)
    unseen = formula(metrics.unseen)
    unexpectedness = formula(metrics.unexpectedness)
    least_item_promoted = formula(metrics.least_item_promoted)
    efd = formula(metrics.efd)
    epc = formula(metrics.epc)

    # order of the relevant documents
    average_precision = formula(metrics.average_precision)
    average_recall = formula(metrics.average_recall)
    reciprocal_rank = formula(metrics.reciprocal_rank)
    first_rank = formula(metrics.first_rank)
    mean_rank = formula(metrics.mean_rank)
    median_rank = formula(metrics.median_rank)
    last_rank = formula(metrics.last_rank)
    mean_percentile_rank = formula(metrics.mean_percentile_rank)
    bpref = formula(metrics.bpref)
    interpolated_precision = formula(metrics.interpolated_precision)
    eleven_point_average = formula(metrics.eleven_point_average)
    auc = formula(metrics.auc)
    partial_auc = formula(metrics.partial_auc)
    ordered_pair_accuracy = formula(metrics.ordered_pair_accuracy)
    ranking_loss = formula(metrics.ranking_loss)

    # prediction of query performance
    nqc = formula(metrics.nqc)
    wig = formula(metrics.wig)
    sigma_max = formula(metrics.sigma_max)

    # graded preferences
    compatibility = formula(metrics.compatibility)

    # retrieval models: unjudged documents, instructions
    hole = formula(metrics.hole)
    p_mrr = formula(metrics.p_mrr)

    # recommenders: compared with past interactions
    serendipity = formula(metrics.serendipity)
    calibration = formula(metrics.calibration)

    # trec_eval's own
    num_nonrel_judged_ret = formula(metrics.num_nonrel_judged_ret)
    unjudged = formula(metrics.unjudged)
    r_precision_multiple = formula(metrics.r_precision_multiple)
    utility = formula(metrics.utility)
    yaap = formula(metrics.yaap)
    rbp_resid = formula(metrics.rbp_resid)
    gm_map = formula(metrics.gm_map)
    gm_bpref = formula(metrics.gm_bpref)
    relstring = formula(metrics.relstring)
    bin_g = formula(metrics.bin_g)
    g = formula(metrics.g)
    ndcg_rel = formula(metrics.ndcg_rel)
    rndcg = formula(metrics.rndcg)
    ideal_dcg = formula(metrics.ideal_dcg)
