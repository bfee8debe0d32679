/** Conditions of an object's status, in the form that `kubectl wait` and GitOps tools read. */
import { systemClock } from "@kcp-ts/machinery/base";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

export type ConditionInput = Omit<Condition, "lastTransitionTime">;

/**
 * The list with this condition set. Returns the identical list when nothing changes, so that `===`
 * shows whether a write is needed. The transition time changes only with the status.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  {
    observedGeneration,
    ...rest
  }: Omit<ConditionInput, "observedGeneration"> & {
    readonly observedGeneration?: number | undefined;
  },
  nowMs: number = systemClock.now(),
): readonly Condition[] {
  const list = conditions ?? [];
  const input = { ...rest, ...(observedGeneration === undefined ? {} : { observedGeneration }) };
  const current = findCondition(list, input.type);
  if (current === undefined) return [...list, { ...input, lastTransitionTime: timestamp(nowMs) }];
  const isSame =
    current.status === input.status &&
    current.reason === input.reason &&
    current.message === input.message &&
    current.observedGeneration === observedGeneration;
  if (isSame) return list;
  const lastTransitionTime =
    current.status === input.status ? current.lastTransitionTime : timestamp(nowMs);
  return list.map((one) => (one === current ? { ...input, lastTransitionTime } : one));
}

export function findCondition<Of extends { readonly type: string } = Condition>(
  conditions: readonly Of[] | undefined,
  type: string,
): Of | undefined {
  return conditions?.find((one) => one.type === type);
}

export function isConditionTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/** Whole seconds in UTC, as metav1.Time has them. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
