/** The message about the clusters that a rollout waits for. */
import type { RolloutPlan } from "./plan-rollout.ts";

export function rolloutMessage({ copies, state, late }: RolloutPlan): string {
  const all = [...copies].sort(([a], [b]) => (a < b ? -1 : 1));
  const waiting = all.filter(([, { isOutdated, isTurn }]) => isOutdated && !isTurn);
  const names = waiting.map(([name]) => name).join(", ");
  if (state === "RolledBack")
    return `rolled back: new template not available in ${late.join(", ")} within the progress deadline; edit the template to try again`;
  if (state === "Paused") return `the rollout is paused: ${names} keeps the previous template`;
  const rolling = all.filter(([, { isRolling }]) => isRolling);
  const how = rolling.map(
    ([name, { updated, pods, isTurn }]) =>
      `${name} has ${isTurn ? 0 : Math.min(updated, pods)} of ${pods}`,
  );
  const next = names === "" ? "" : `, ${names} follows when enough is available`;
  return `the newest template is rolled out: ${how.length === 0 ? "none has it" : how.join(", ")}${next}`;
}
