/**
 * One Kubernetes object as a sequential machine: the response of each request in each state, and
 * the next state.
 *
 * A write whose response was lost leaves a state whose uid and revision are unknown until they are
 * read; only that the revision is later than the previous one is certain.
 */
import type {
  KeyRequest,
  ObjectState,
  Operation,
  Outcome,
  Texts,
  WriteRequest,
} from "./history.ts";
import type { Model } from "./linearizability.ts";
import { sameTexts, textsLine } from "./same-state.ts";

export interface ModelObject {
  readonly uid: string | undefined;
  readonly revision: number | undefined;
  readonly generation: number | undefined;
  readonly labels: Texts;
  readonly spec: Texts;
  readonly status: Texts;
}

export interface ModelState {
  readonly object: ModelObject | undefined;
  /** The newest revision that is known to be behind us: what comes is later. */
  readonly after: number;
}

export const objectModel: Model<ModelState, Operation> = {
  initial: { object: undefined, after: 0 },
  step: (state, { request, outcome }) => {
    if (outcome.kind === "open") return request.verb === "get" ? [state] : effect(state, request);
    return answered(state, request, outcome);
  },
  stateKey: ({ object, after }) =>
    object === undefined
      ? `- ${after}`
      : [
          object.uid,
          object.revision ?? `>${after}`,
          object.generation,
          textsLine(object.labels),
          textsLine(object.spec),
          textsLine(object.status),
        ].join(" "),
};

function answered(
  state: ModelState,
  request: KeyRequest,
  outcome: Exclude<Outcome, { kind: "open" }>,
): readonly ModelState[] {
  const { object } = state;
  switch (outcome.kind) {
    case "notFound":
      return object === undefined && request.verb !== "create" && request.verb !== "apply"
        ? [state]
        : [];
    case "alreadyExists":
      return object !== undefined && request.verb === "create" ? [state] : [];
    case "conflict":
      return object !== undefined && mayConflict(object, request) ? [state] : [];
    case "deleted":
      if (object === undefined || request.verb !== "delete" || !meets(state, object, request))
        return [];
      return object.uid === undefined || object.uid === outcome.uid ? effect(state, request) : [];
    case "object":
      if (request.verb === "get")
        return object === undefined ? [] : seen(state, object, outcome.state);
      return effect(state, request).flatMap(({ object: made, after }) =>
        made === undefined ? [] : seen({ object: made, after }, made, outcome.state),
      );
  }
}

/** What is known of an object is what was read, if the two do not contradict each other. */
function seen({ after }: ModelState, known: ModelObject, read: ObjectState): readonly ModelState[] {
  const fits =
    (known.uid === undefined || known.uid === read.uid) &&
    (known.revision === undefined ? read.revision > after : known.revision === read.revision) &&
    known.generation === (read.generation === undefined ? undefined : read.generation) &&
    sameTexts(known.labels, read.labels) &&
    sameTexts(known.spec, read.spec) &&
    sameTexts(known.status, read.status);
  return fits ? [{ object: read as ModelObject, after: read.revision }] : [];
}

/** What a write makes of a state in which it is possible. */
function effect(state: ModelState, request: WriteRequest): readonly ModelState[] {
  const { object } = state;
  const after = object?.revision ?? state.after;
  if (request.verb === "create" || (request.verb === "apply" && object === undefined)) {
    if (object !== undefined) return [];
    const { spec, labels } = request;
    const made = { uid: undefined, revision: undefined, generation: 1, spec, labels, status: {} };
    // Whether the kind has a generation at all, the first read tells.
    return [made, { ...made, generation: undefined }].map((one) => ({ object: one, after }));
  }
  if (object === undefined || !meets(state, object, request)) return [];
  if (request.verb === "delete") return [{ object: undefined, after }];
  return [{ object: { ...changed(object, request), revision: undefined }, after }];
}

function changed(object: ModelObject, request: WriteRequest): ModelObject {
  switch (request.verb) {
    case "patchStatus":
      return { ...object, status: { ...object.status, ...request.status } };
    case "update":
      return written(object, request.spec, request.labels);
    case "patch":
    case "apply":
      return written(
        object,
        { ...object.spec, ...request.spec },
        { ...object.labels, ...request.labels },
      );
    default:
      return object;
  }
}

function written(object: ModelObject, spec: Texts, labels: Texts): ModelObject {
  const isNewSpec = !sameTexts(object.spec, spec);
  const generation =
    object.generation === undefined ? undefined : object.generation + (isNewSpec ? 1 : 0);
  return { ...object, spec, labels, generation };
}

interface Preconditions {
  readonly expectedRevision?: number | undefined;
  readonly expectedUid?: string | undefined;
}

/** Whether its preconditions may hold. */
function meets({ after }: ModelState, object: ModelObject, request: WriteRequest): boolean {
  const { expectedRevision, expectedUid }: Preconditions = request as Preconditions;
  return (
    (expectedRevision === undefined ||
      (object.revision === undefined
        ? expectedRevision > after
        : object.revision === expectedRevision)) &&
    (expectedUid === undefined || object.uid === undefined || object.uid === expectedUid)
  );
}

/** Whether its preconditions may not hold. A request without any never conflicts. */
function mayConflict(object: ModelObject, request: KeyRequest): boolean {
  const { expectedRevision, expectedUid }: Preconditions = request as Preconditions;
  return (
    (expectedRevision !== undefined && object.revision !== expectedRevision) ||
    (expectedUid !== undefined && object.uid !== expectedUid)
  );
}
