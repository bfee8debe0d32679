/**
 * All bounds, one line for each kind of input: an input without a bound here must not be parsed,
 * collected or evaluated (`tools/tidy/bound-rules.ts`).
 *
 * A value costs some 200 bytes of heap at most, so that 100,000 of them and their text stay below
 * the memory limit of one request (64 MB). `docs/internals/bounds.md` documents this table, and a
 * test compares both.
 */
import { jsonDepthMax } from "../json/index.ts";
import type { Bound, WorkBound } from "./bound.ts";

const KiB = 1 << 10;
const MiB = 1 << 20;

/** The bound of a stored object, whatever its source. */
const object = { valuesMax: 100_000, membersMax: 20_000, depthMax: jsonDepthMax } as const;
/** The bound of small documents: reviews, keys, versions. */
const small = { valuesMax: 10_000, membersMax: 2_000, depthMax: 64 } as const;

export const bounds = {
  /** Bodies of requests, JSON, YAML and protobuf alike; etcd's limit in Kubernetes. */
  requestBody: { name: "request body", sender: "tenant", bytesMax: 3 * MiB, ...object },
  /**
   * The spec of a CustomResourceDefinition or an APIResourceSchema, which is compiled, served as
   * OpenAPI and written several times until it is established. With its managedFields and its
   * status, it stays within the 1.5 MiB that etcd stores by default; the largest public definitions
   * have half a megabyte.
   */
  definition: { name: "definition", sender: "tenant", bytesMax: MiB, ...object },
  /**
   * The JSON of a request's YAML, which may be longer: names are quoted, and aliases are expanded.
   */
  translatedYaml: { name: "request body as JSON", sender: "tenant", bytesMax: 16 * MiB, ...object },
  /** The Status of an error response, or the content in its place. */
  refusal: { name: "refusal", sender: "server", bytesMax: MiB, ...small },
  /**
   * Discovery, OpenAPI and other complete documents of a physical cluster; the OpenAPI of a large
   * group has a few megabytes.
   */
  clusterAnswer: {
    name: "physical cluster answer",
    sender: "physical cluster",
    bytesMax: 6 * MiB,
    valuesMax: 75_000,
    membersMax: 20_000,
    depthMax: 256,
  },
  /** One object of a physical cluster: of a list, of a watch, or alone. */
  clusterObject: {
    name: "physical cluster object",
    sender: "physical cluster",
    bytesMax: 4 * MiB,
    ...object,
  },
  /**
   * A page of a list of a physical cluster, in sum. Its objects are cut out and parsed one by one.
   */
  clusterList: {
    name: "physical cluster list",
    sender: "physical cluster",
    bytesMax: 64 * MiB,
    valuesMax: 3_000_000,
    membersMax: 20_000,
    depthMax: jsonDepthMax,
  },
  /** The own metadata of such a list, without its items. */
  clusterListHead: {
    name: "physical cluster list head",
    sender: "physical cluster",
    bytesMax: MiB,
    ...small,
  },
  /** An event of another shard's watch, with an object that is stored there. */
  shardObject: { name: "object of another shard", sender: "server", bytesMax: 4 * MiB, ...object },
  /** An object of another shard, or a page of 100 of them. */
  shardList: {
    name: "list of another shard",
    sender: "server",
    bytesMax: 64 * MiB,
    valuesMax: 3_000_000,
    membersMax: 20_000,
    depthMax: jsonDepthMax,
  },
  /**
   * A SyncTarget, with its kubeconfig. The control plane keeps all SyncTargets in memory, see
   * `objectsMax`.
   */
  syncTarget: { name: "SyncTarget", sender: "tenant", bytesMax: 320 * KiB, ...small },
  /**
   * An object of a native kind: its defaults, rules and comparisons take one turn of the event loop
   * each. An EndpointSlice of 1,000 endpoints has about 16,000 values.
   */
  nativeObject: {
    name: "object of a native kind",
    sender: "tenant",
    bytesMax: 3 * MiB,
    valuesMax: 20_000,
    membersMax: 20_000,
    depthMax: 1000,
  },
  /**
   * The YAML of a SyncTarget's kubeconfig, parsed in one turn of the event loop. Its certificates
   * may be wrapped lines.
   */
  kubeconfig: {
    name: "kubeconfig",
    sender: "tenant",
    bytesMax: 256 * KiB,
    valuesMax: 5_000,
    membersMax: 5_000,
    depthMax: 100,
  },
  /** An AdmissionReview with a patch in base64. */
  admissionAnswer: {
    name: "admission webhook answer",
    sender: "webhook",
    bytesMax: 6 * MiB,
    ...small,
  },
  /** The patch in an AdmissionReview. */
  admissionPatch: {
    name: "admission webhook patch",
    sender: "webhook",
    bytesMax: 3 * MiB,
    ...object,
  },
  /** A ConversionReview: as many objects as were sent, see `conversionBatchBytes`. */
  conversionAnswer: {
    name: "conversion webhook answer",
    sender: "webhook",
    bytesMax: 8 * MiB,
    valuesMax: 200_000,
    membersMax: 20_000,
    depthMax: jsonDepthMax,
  },
  /** Responses of the operator's webhooks: SubjectAccessReviews, and responses to audit events. */
  reviewAnswer: { name: "review webhook answer", sender: "webhook", bytesMax: MiB, ...small },
  /** OpenID discovery documents and keys. */
  issuerDocument: { name: "issuer document", sender: "issuer", bytesMax: MiB, ...small },
  /** The payload or header of a JSON Web Token. */
  token: { name: "token", sender: "unauthenticated client", bytesMax: 16 * KiB, ...small },
  /** The token of `continue=`. */
  continueToken: { name: "continue token", sender: "tenant", bytesMax: 4 * KiB, ...small },
  /** JSON within a field of an object: annotations, files in Secrets, records of controllers. */
  embeddedText: { name: "JSON in an object", sender: "tenant", bytesMax: 3 * MiB, ...object },
  /**
   * The keys of a list item, or a value of a set, in managedFields: JSON in the name of a member.
   */
  fieldPathElement: { name: "path element", sender: "tenant", bytesMax: 256 * KiB, ...small },
  /** A body in an audit event. */
  auditBody: { name: "body in an audit event", sender: "tenant", bytesMax: 3 * MiB, ...object },
} as const satisfies Readonly<Record<string, Bound>>;

export const workBounds = {
  /** JSONPaths of a row of a Table: steps taken and results produced, of all columns together. */
  tableRow: { name: "printer columns of a row", sender: "tenant", unitsMax: 50_000 },
  /** The same for all rows of a response: cells beyond it are empty. */
  tableAnswer: { name: "printer columns of a Table", sender: "tenant", unitsMax: 5_000_000 },
  /** A path that is evaluated alone: selectable fields, scale. */
  path: { name: "JSONPath", sender: "tenant", unitsMax: 50_000 },
  /** Values of all states of an object that admission webhooks receive, for one request. */
  admissionReviews: {
    name: "objects in admission reviews of a request",
    sender: "tenant",
    unitsMax: 300_000,
  },
  /** Bytes of the responses of all admission webhooks to one request. */
  admissionAnswers: {
    name: "admission webhook answers of a request",
    sender: "webhook",
    unitsMax: 8 * MiB,
  },
  /**
   * Values that the overrides of a workload copy for all clusters together, and the items that
   * their patches shift, in one decision. Clusters with the same overrides share one copy.
   */
  overrides: { name: "overrides of a workload", sender: "tenant", unitsMax: 100_000 },
  /** Characters of all schemas of custom kinds in the OpenAPI documents of a logical cluster. */
  openApi: { name: "schemas in OpenAPI", sender: "tenant", unitsMax: 4 * MiB },
  /** Custom kinds, each version counted, in the OpenAPI documents of a logical cluster. */
  openApiKinds: { name: "kinds in OpenAPI", sender: "tenant", unitsMax: 1000 },
} as const satisfies Readonly<Record<string, WorkBound>>;

/**
 * Objects of a kind in one logical cluster, where the control plane keeps all of them in memory.
 */
export const objectsMax = { syncTargets: 1000 } as const;

/** The memory of one kind of input at a time, for one tenant and for all tenants. */
export const bytesInFlight = {
  requestBodies: { bytesPerTenantMax: 64 * MiB, bytesMax: 256 * MiB },
  webhookAnswers: { bytesPerTenantMax: 32 * MiB, bytesMax: 128 * MiB },
  clusterAnswers: { bytesPerTenantMax: 64 * MiB, bytesMax: 256 * MiB },
  /** Connections to physical clusters, and the objects of these clusters in caches. */
  clusterObjects: { bytesPerTenantMax: 512 * MiB, bytesMax: 1024 * MiB },
} as const;
