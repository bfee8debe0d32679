/**
 * For the histories: random faults of the requests of syncers to one side, with their names for the
 * log.
 */
import type { SeededRandom } from "@kcp-ts/testkit";
import type { Fault, FaultResponse } from "./faulty-server.ts";

export function randomFault(random: SeededRandom): {
  readonly fault: Fault;
  readonly name: string;
} {
  const lost = random.fork();
  const choices: readonly [FaultResponse, ...FaultResponse[]] = [
    "cut",
    "lost-answer",
    "empty",
    { lose: () => lost.chance(0.3) },
    { status: 404 },
    { status: 500 },
  ];
  const answer = random.pick(choices);
  const odds = random.pick([1, 1, 0.5, 0.2]);
  const kind = random.pick(["", "", "widgets", "configmaps", "namespaces"]);
  const own = random.fork();
  const isLoss = typeof answer === "object" && "lose" in answer;
  return {
    fault: ({ target }) => (target.includes(kind) && own.chance(odds) ? answer : undefined),
    name: `${isLoss ? "lose" : JSON.stringify(answer)} ${kind} ${odds}`,
  };
}
