/** The attributes of a request for authorizers, without body and HTTP. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { UserInfo } from "./user.ts";

export interface Attributes {
  readonly user: UserInfo;
  /**
   * A Kubernetes verb (`get`, `list`, `deletecollection`…), or the lower-case method for
   * non-resource requests.
   */
  readonly verb: string;
  /** The logical cluster of the request; `*` is all of them. */
  readonly cluster: ClusterName | "*";
  /**
   * The API group; empty for the core group and for non-resource requests, as are the following
   * members when absent.
   */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path behind the cluster prefix, decoded once. */
  readonly path: string;
  readonly isResourceRequest: boolean;
  /** Set where each step of the decision is audited: the authorizer, and its result. */
  readonly recordDecision?: DecisionRecorder | undefined;
}

export type DecisionRecorder = (
  step: string,
  decision: "Allowed" | "Denied" | "NoOpinion",
  reason: string,
) => void;
