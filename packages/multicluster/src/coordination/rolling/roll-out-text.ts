/** What a rollout waits for, for those who ask. */
import type { RolloutPlan } from "./roll-out.ts";
import { rolloutRecordAnnotation } from "./roll-record.ts";

export function rolloutMessage({ parts, state, late }: RolloutPlan): string {
  const all = [...parts].sort(([a], [b]) => (a < b ? -1 : 1));
  const waiting = all.filter(([, { isBehind, isTurn }]) => isBehind && !isTurn);
  const names = waiting.map(([name]) => name).join(", ");
  if (state === "undone")
    return `the newest template did not become available in ${late.join(", ")} in time and is undone: it is tried again when it is edited, or when the annotation ${rolloutRecordAnnotation} is removed from the part there`;
  if (state === "paused") return `the rollout is paused: ${names} keeps the template of before`;
  const rolling = all.filter(([, { isRolling }]) => isRolling);
  const how = rolling.map(
    ([name, { updated, pods, isTurn }]) =>
      `${name} has ${isTurn ? 0 : Math.min(updated, pods)} of ${pods}`,
  );
  const next = names === "" ? "" : `, ${names} follows when enough is available`;
  return `the newest template is rolled out: ${how.length === 0 ? "none has it" : how.join(", ")}${next}`;
}
