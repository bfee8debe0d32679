/** Conditions of an object, the bad ones first. */

import { ageText, Tone, type ToneName } from "./fields.tsx";
import { LongText } from "./long-text.tsx";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Conditions that are good when they are False. */
const inverse =
  /Pressure$|^(?:NetworkUnavailable|Moving|Failed|ReplicaFailure|SharedOwnership|Terminating|Stalled|DisruptionTarget)$|Failure$|Remaining$/;
/** Conditions that say how far something is, and not whether it is well. */
const neutral = /^(?:Progressing|Drained|Moving|Suspended)$/;

function toneOf({ type, status }: Condition): ToneName {
  if (status === "Unknown") return "warn";
  if (neutral.test(type)) return "none";
  return (status === "True") !== inverse.test(type) ? "good" : "bad";
}

const order: readonly ToneName[] = ["bad", "warn", "none", "good"];

interface ConditionListProps {
  readonly conditions: readonly Condition[];
  readonly nowMs: number;
  /** Those that are as they should be are folded away. */
  readonly isBrief?: boolean;
}

export function ConditionList({ conditions, nowMs, isBrief = false }: ConditionListProps) {
  const sorted = [...conditions].sort(
    (a, b) => order.indexOf(toneOf(a)) - order.indexOf(toneOf(b)),
  );
  if (!isBrief) return <Conditions conditions={sorted} nowMs={nowMs} />;
  const isBad = (one: Condition) => ["bad", "warn"].includes(toneOf(one));
  const bad = sorted.filter(isBad);
  const rest = sorted.filter((one) => !isBad(one));
  return (
    <>
      {bad.length === 0 ? null : <Conditions conditions={bad} nowMs={nowMs} />}
      {rest.length === 0 ? null : (
        <details>
          <summary>{`${rest.length} conditions are as they should be`}</summary>
          <Conditions conditions={rest} nowMs={nowMs} />
        </details>
      )}
    </>
  );
}

function Conditions({ conditions, nowMs }: Omit<ConditionListProps, "isBrief">) {
  return (
    <table class="small">
      <caption class="hidden">Conditions</caption>
      <thead>
        <tr>
          <th scope="col">Condition</th>
          <th scope="col">Status</th>
          <th scope="col">Reason</th>
          <th scope="col">Message</th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        {conditions.map((one) => (
          <tr key={one.type}>
            <th scope="row">{one.type}</th>
            <td>
              <Tone word={one.status} tone={toneOf(one)} />
            </td>
            <td>{one.reason}</td>
            <td class="wide">
              <LongText text={one.message ?? ""} />
            </td>
            <td>{ageText(one.lastTransitionTime, nowMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
