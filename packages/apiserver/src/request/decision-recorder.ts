/** Records authorization steps as audit annotations, under a domain of kcp's. */
import type { DecisionRecorder } from "./attributes.ts";

export function decisionRecorder(
  annotate: (key: string, value: string) => void,
  domain: "request.auth.kcp.io" | "sar.auth.kcp.io",
): DecisionRecorder {
  return (step, decision, reason) => {
    annotate(`${domain}/${step}-decision`, decision);
    annotate(`${domain}/${step}-reason`, reason);
  };
}
