/**
 * Handles reviews, such as SubjectAccessReview: a POST that is decoded, validated and answered.
 * Reviews are not stored, so they can be neither listed nor watched.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { negotiate } from "../content/index.ts";
import { apiVersionOf, type Draft, runValidation } from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import type { DecisionRecorder } from "../request/attributes.ts";
import { decisionRecorder } from "../request/decision-recorder.ts";
import { isSystemMaster, type UserInfo } from "../request/user.ts";
import { HandlerAdmissionRequest } from "./admission-request.ts";
import { checkAddress, readObject } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
} from "./handler-context.ts";
import { parseMutationOptions } from "./options.ts";
import { renderValue } from "./render.ts";

export interface ReviewRequest {
  readonly cluster: ClusterName;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  /** The user of the request. */
  readonly user: UserInfo;
  readonly object: JsonObject;
  /** Aborts when the client disconnects or the request exceeds its timeout. */
  readonly signal: AbortSignal;
  /**
   * Evaluates RBAC only, without access to the logical cluster and without restrictions by
   * providers; for members of system:masters, who review the access of other users.
   */
  readonly isDeep: boolean;
  /** Records the steps of the decision. */
  readonly recordDecision?: DecisionRecorder | undefined;
}

/** Returns the members that the reviewer adds to the review: its status. */
export type Reviewer = (review: ReviewRequest) => Promise<JsonObject>;

/** Reviewers by group and resource: `authorization.k8s.io/subjectaccessreviews`. */
export type Reviewers = ReadonlyMap<string, Reviewer>;

export async function handleReview(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { request, scope, definition, user, signal } = handled;
  const cluster = requireSingleCluster(scope);
  const { namespace } = scope;
  const reviewer = dependencies.reviewers.get(`${definition.group}/${definition.resource}`);
  if (scope.name !== "" || reviewer === undefined)
    throw statusError.methodNotAllowed(definition, "create");
  const form = negotiate(header(request.headers, "accept"), {});
  const options = parseMutationOptions(scope.query, "CreateOptions");
  const { draft } = await readObject(handled, options);
  checkAddress(handled, draft, "create");
  draft["metadata"] = {
    ...withoutZeros((draft["metadata"] ?? {}) as JsonObject),
    ...(definition.isNamespaced ? { namespace } : {}),
  };
  const errors = runValidation(definition.strategy.validate(draft));
  // Without the kind, as in Kubernetes.
  const { group } = definition;
  if (errors.length > 0) throw statusError.invalid({ group, kind: "" }, "", errors);
  await admit(handled, dependencies, draft, options.isDryRun);
  const { kind: _kind, apiVersion: _version, metadata, ...rest } = draft;
  const isSubjectAccess = definition.resource === "subjectaccessreviews";
  const note = decisionRecorder((key, value) => handled.annotate(key, value), "sar.auth.kcp.io");
  const answer = await reviewer({
    ...{ cluster, namespace, user, object: draft, signal },
    isDeep:
      isSubjectAccess && isSystemMaster(user) && header(request.headers, deepHeader) === "true",
    recordDecision: isSubjectAccess ? note : undefined,
  });
  const reviewed: JsonObject = {
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
    metadata: metadata as JsonObject,
    ...rest,
    ...answer,
  };
  return renderValue(201, reviewed, form);
}

const deepHeader = "x-kcp-internal-deep-subjectaccessreview";

/** Drops zero values, which protobuf clients send for unset fields. */
function withoutZeros(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).filter(
      ([, value]) => value !== null && value !== "" && value !== 0 && value !== undefined,
    ),
  );
}

/** Admits the review like any object, except that its namespace need not exist. */
async function admit(
  handled: HandlerRequest,
  { admission }: HandlerDependencies,
  draft: Draft,
  isDryRun: boolean,
): Promise<void> {
  const request = new HandlerAdmissionRequest(handled, "CREATE", isDryRun);
  await admission.mutate(request, draft, undefined);
  await admission.validate(request, draft, undefined);
}
