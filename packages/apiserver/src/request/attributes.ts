/** What is asked: a request as an authorizer sees it. It carries no body and no HTTP. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { UserInfo } from "./user.ts";

export interface Attributes {
  readonly user: UserInfo;
  /** A Kubernetes verb (`get`, `list`, `deletecollection`…), or the lower-case method for non-resource requests. */
  readonly verb: string;
  /** The logical cluster asked; `*` is all of them. */
  readonly cluster: ClusterName | "*";
  /** Of the API; empty for the core group and for non-resource requests, as are the following ones when absent. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path behind the cluster prefix, decoded once. */
  readonly path: string;
  readonly isResourceRequest: boolean;
  /** Set where each step of the decision is written down: by whom, and what it came to. */
  readonly note?: DecisionRecorder | undefined;
}

export type DecisionRecorder = (
  step: string,
  decision: "Allowed" | "Denied" | "NoOpinion",
  reason: string,
) => void;
