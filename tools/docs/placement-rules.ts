/** The rule book of placement, from the lists that the scheduler and the stepper run. */
import { ruleBook } from "@kcp-ts/multicluster";

export const placementRulesPath = "docs/internals/placement-rules.md";

type Rule = (typeof ruleBook)["filter" | "score" | "assign"][number];

export function placementRulesPage(): string {
  return [
    "# Placement rules",
    "",
    "Generated from the lists of rules by `npm run docs`; a test compares it with the code.",
    "",
    "A decision runs `filter → score → reserve → assign → step`. A rule leaves records with its name,",
    "the cluster, a verdict and a message; the condition `Scheduled`, the history, `explain-placement`,",
    "`plan` and `drain` render these records, and count equal messages together:",
    "`6/8 replicas scheduled: 0/3 clusters are available: 2 Insufficient cpu, 1 not ready`.",
    "",
    "| verdict | means |",
    "|---|---|",
    "| Evict | existing replicas leave the cluster, when they are replaced |",
    "| Reject | the cluster gets no new replicas, and keeps those that it has |",
    "| Limit | the cluster gets no more than this |",
    "| Prefer | the cluster gets more or fewer than others |",
    "| Keep | replicas that should leave stay |",
    "",
    ...section("Filter", ruleBook.filter),
    ...section("Score", ruleBook.score),
    ...section("Reserve", ruleBook.reserve),
    ...section("Assign", ruleBook.assign),
    "## Stepper",
    "",
    "One function serves every kind by its row ([Moves](moves.md) has the states of a copy). Divided",
    "Jobs and HorizontalPodAutoscalers take no steps: their per-cluster objects are only added and",
    "edited.",
    "",
    "| kind | unit | overlap | surge | rest | finishes in place | deadline |",
    "|---|---|---|---|---|---|---|",
    ...ruleBook.kinds.map(({ kind, capabilities: one }) =>
      row(
        kind,
        one.unit,
        ...[one.mayOverlap, one.maySurge, one.mayRest, one.finishesInPlace, one.hasDeadline].map(
          (is) => (is ? "yes" : "no"),
        ),
      ),
    ),
    "",
    "## Reasons of the condition Scheduled",
    "",
    "The first that is the case is reported.",
    "",
    "| reason | phase | when |",
    "|---|---|---|",
    ...ruleBook.reasons.map(({ reasons, phase, does }) =>
      row(reasons.map((one) => `\`${one}\``).join(", "), phase, does),
    ),
    "",
  ].join("\n");
}

function section(title: string, rules: readonly Rule[]): readonly string[] {
  return [
    `## ${title}`,
    "",
    "| rule | verdict | what it does | message |",
    "|---|---|---|---|",
    ...rules.map(({ name, verdict, does, form }) =>
      row(
        name,
        verdict,
        does,
        form
          .split("; ")
          .map((one) => `\`${one}\``)
          .join(", "),
      ),
    ),
    "",
  ];
}

function row(...cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
