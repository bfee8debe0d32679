/** A question that is posted as an object: read, checked, answered. Nothing is stored, so nothing of it can be listed or watched. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { negotiate } from "../content/index.ts";
import { apiVersionOf, type Draft, runValidation } from "../registry/index.ts";
import { type ApiResponse, header, type MaybePromise } from "../request/api-request.ts";
import type { DecisionRecorder } from "../request/attributes.ts";
import { decisionRecorder } from "../request/decision-notes.ts";
import { isSystemMaster, type UserInfo } from "../request/user.ts";
import { admissionRequest } from "./admission-request.ts";
import { type HandlerDependencies, type HandlerRequest, requireSingleCluster } from "./context.ts";
import { checkAddress, readObject } from "./decode-object.ts";
import { parseMutationOptions } from "./options.ts";
import { renderValue } from "./render.ts";

export interface ReviewRequest {
  readonly cluster: ClusterName;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  /** Who asks. */
  readonly user: UserInfo;
  readonly object: JsonObject;
  /** Aborts when the client goes away, or the request has taken too long. */
  readonly signal: AbortSignal;
  /** Only what roles say is asked, not who may enter nor what providers allow: for members of system:masters, who ask for others. */
  readonly isDeep: boolean;
  /** Where the steps of an answer are written down. */
  readonly note?: DecisionRecorder | undefined;
}

/** Answers with the members that the review gets: its status. */
export type Reviewer = (review: ReviewRequest) => MaybePromise<JsonObject>;

/** By group and resource: `authorization.k8s.io/subjectaccessreviews`. */
export type Reviewers = ReadonlyMap<string, Reviewer>;

export async function handleReview(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
): Promise<ApiResponse> {
  const { request, scope, definition, user, signal } = handled;
  const cluster = requireSingleCluster(scope);
  const { namespace } = scope;
  const reviewer = rooms.reviewers.get(`${definition.group}/${definition.resource}`);
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
  // Without the kind: so does Kubernetes.
  const { group } = definition;
  if (errors.length > 0) throw statusError.invalid({ group, kind: "" }, "", errors);
  await admit(handled, rooms, draft, options.isDryRun);
  const { kind: _kind, apiVersion: _version, metadata, ...rest } = draft;
  const isSubjectAccess = definition.resource === "subjectaccessreviews";
  const note = decisionRecorder((key, value) => handled.annotate(key, value), "sar.auth.kcp.io");
  const answer = await reviewer({
    ...{ cluster, namespace, user, object: draft, signal },
    isDeep:
      isSubjectAccess && isSystemMaster(user) && header(request.headers, deepHeader) === "true",
    note: isSubjectAccess ? note : undefined,
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

/** Protobuf clients send what is not set, too. */
function withoutZeros(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).filter(
      ([, value]) => value !== null && value !== "" && value !== 0 && value !== undefined,
    ),
  );
}

/** As for any object, but for where it would live: a question does not need its namespace to exist. */
async function admit(
  handled: HandlerRequest,
  { admission }: HandlerDependencies,
  draft: Draft,
  isDryRun: boolean,
): Promise<void> {
  const request = admissionRequest(handled, "CREATE", isDryRun);
  await admission.mutate(request, draft, undefined);
  await admission.validate(request, draft, undefined);
}
