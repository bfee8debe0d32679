/** Histories in words: what was found, and how to see it again. */
import type { Configuration } from "./environment.ts";
import type { Finding, Summary } from "./run-histories.ts";

const violationsShown = 6;
const linesShown = 14;

export function findingText(configuration: Configuration, finding: Finding): string {
  const { seed, history, faults, violations } = finding;
  const shown = violations
    .slice(0, violationsShown)
    .flatMap(({ guarantee, message, excerpt }) => [
      `  ${guarantee}: ${message}`,
      ...excerpt.slice(-linesShown).map((line) => `      ${line}`),
    ]);
  const left = violations.length - violationsShown;
  return [
    `VIOLATION in ${history} on ${configuration} [${faults.join("; ")}]`,
    ...shown,
    ...(left > 0 ? [`  and ${left} more`] : []),
    `  again: node tests/dist/conformance/histories/main.js --config ${configuration} --histories 8 --seed ${seed}`,
  ].join("\n");
}

export function summaryText(
  configuration: Configuration,
  summary: Summary,
  seconds: number,
): string {
  const { histories, operations, open, lists, events, streams, faults, findings } = summary;
  const struck = [...faults]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `    ${count} × ${name}`);
  return [
    `${configuration}: ${histories} histories, ${findings.length} with violations, in ${seconds.toFixed(0)} s`,
    `  ${operations} operations, ${open} of them open; ${lists} lists; ${events} events in ${streams} watch streams`,
    "  histories under each fault:",
    ...struck,
  ].join("\n");
}
