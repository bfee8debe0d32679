/**
 * Who may import whom. Anything that is not listed is forbidden; a new arrow is a decision (docs/adr), made here.
 */
export interface PackageRule {
  /** Other packages of ours. */
  readonly packages: readonly string[];
  /** Rooms that may use Node; `everywhere` when the package runs on Node only. */
  readonly node: "everywhere" | readonly string[];
}

export const packageTable: Readonly<Record<string, PackageRule>> = {
  machinery: { packages: [], node: [] },
  apiserver: { packages: ["machinery"], node: "everywhere" },
  // Also runs in browsers, but for where kubeconfigs are read and sockets opened.
  sdk: { packages: ["machinery"], node: ["kubeconfig", "transport", "fake-server", "websocket"] },
  controllers: { packages: ["machinery", "sdk"], node: [] },
  multicluster: { packages: ["machinery", "sdk"], node: "everywhere" },
  // Garbage is collected and namespaces are emptied by the same loops as ours: docs/adr/0011.
  simulator: { packages: ["machinery", "sdk", "apiserver", "controllers"], node: "everywhere" },
  controlplane: {
    packages: ["machinery", "sdk", "apiserver", "controllers", "multicluster", "simulator"],
    node: "everywhere",
  },
  cli: { packages: ["machinery", "sdk", "controlplane"], node: "everywhere" },
  console: { packages: ["machinery", "sdk"], node: [] },
  // The published one: doors only.
  "kcp-ts": { packages: ["machinery", "sdk", "apiserver", "controlplane"], node: [] },
  testkit: { packages: ["machinery"], node: "everywhere" },
};

/** Packages from npm that are few on purpose. Others may use what their own manifest declares. */
export const externalTable: Readonly<Record<string, readonly string[]>> = {
  machinery: ["re2js"],
  sdk: ["js-yaml"],
};

/** Rooms of a package: the folders of its src. Files beside the rooms are wiring and may import every room of their package. */
export const roomTable: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  machinery: {
    base: [],
    json: ["base"],
    // What others may make large: docs/adr/0071.
    bounds: ["base", "json"],
    names: ["base"],
    status: ["json"],
    table: [],
    selectors: ["names", "status"],
    meta: ["json", "names", "status"],
    patch: ["base", "json", "status"],
    shape: ["base", "bounds", "json", "patch", "apply"],
    "workload-shapes": ["shape"],
    schema: ["base", "bounds", "json", "status", "cel"],
    cel: ["base", "json"],
    compat: ["json", "schema"],
    apply: ["base", "bounds", "json", "meta", "schema", "status"],
  },
  controllers: {
    api: [],
    pace: [],
    namespace: ["api", "pace"],
    "garbage-collector": ["api", "pace"],
    "default-objects": ["api", "pace"],
    "resource-quota": ["api"],
    "service-account-tokens": ["api"],
    "certificate-requests": ["api"],
    "event-expiry": ["pace"],
  },
  apiserver: {
    request: [],
    // What a turn of the event loop may do, for every room that spends of it.
    "event-loop": [],
    storage: ["event-loop"],
    metrics: [],
    http2: ["event-loop"],
    http: ["request", "event-loop", "http2"],
    authentication: ["request"],
    authorization: ["request"],
    admission: ["request"],
    fairness: ["request", "event-loop", "metrics"],
    audit: ["request", "metrics"],
    "stored-object": ["storage"],
    "watch-cache": ["request", "event-loop", "storage", "stored-object"],
    registry: ["request", "storage", "stored-object", "watch-cache"],
    webhooks: ["request"],
    "custom-resources": [
      "request",
      "storage",
      "stored-object",
      "watch-cache",
      "registry",
      "webhooks",
    ],
    tenancy: [
      "request",
      "storage",
      "stored-object",
      "watch-cache",
      "registry",
      "custom-resources",
      "admission",
    ],
    "api-sharing": [
      "request",
      "storage",
      "stored-object",
      "watch-cache",
      "registry",
      "custom-resources",
      "admission",
      "tenancy",
      "topology",
    ],
    topology: [
      "request",
      "storage",
      "stored-object",
      "watch-cache",
      "registry",
      "custom-resources",
      "tenancy",
    ],
    // Supplies what admission declares; admission itself knows none of these.
    "admission-sources": [
      "request",
      "admission",
      "custom-resources",
      "registry",
      "storage",
      "stored-object",
      "watch-cache",
    ],
    content: ["request", "event-loop", "registry"],
    health: ["request", "content"],
    discovery: ["request", "content", "registry"],
    openapi: ["request", "content", "registry"],
    // Revisions, keys and entries of storage are words here; reads and writes go through registry and watch-cache.
    handlers: [
      "request",
      "content",
      "admission",
      "registry",
      "watch-cache",
      "stored-object",
      "storage",
    ],
    backup: ["request", "storage"],
    routing: [
      "request",
      "content",
      "backup",
      "discovery",
      "health",
      "metrics",
      "openapi",
      "registry",
    ],
  },
  sdk: {
    client: [],
    metrics: ["client"],
    transport: ["client"],
    // For tunnels and for pretended containers: docs/adr/0030.
    websocket: ["client"],
    discovery: ["client"],
    informer: ["client", "metrics"],
    "work-queue": ["metrics"],
    "leader-election": ["client", "metrics"],
    kubeconfig: ["client", "transport"],
    // For tests of controllers.
    "fake-server": ["client"],
    controller: ["client", "informer", "leader-election", "metrics", "work-queue"],
  },
  simulator: {
    shapes: [],
    // Containers that can be talked to: docs/adr/0030.
    containers: [],
    kinds: ["shapes", "containers"],
    api: [],
    workloads: ["api"],
    nodes: ["api"],
    front: [],
  },
  multicluster: {
    api: [],
    "api-import": [],
    agent: ["api", "syncer"],
    registration: ["api", "agent", "syncer"],
    "api-importer": ["api", "api-import", "registration"],
    negotiation: ["api"],
    syncer: ["api"],
    scheduling: ["api"],
    coordination: ["api", "scheduling"],
    // Decides as they do, about what might be: docs/adr/0026; what claims would refuse: 0045; also in clusters of others: 0059.
    explain: ["api", "scheduling", "coordination", "volumes", "compute"],
    // Where agents see what is theirs in other workspaces, too: docs/adr/0031; and where a whole is to be: 0045.
    drain: ["api", "agent", "coordination"],
    // Parts, clusters and how far they are trusted are the splitter's words.
    traffic: ["api", "coordination"],
    // Claims are read off what is synced, and their parts off what is split.
    volumes: ["api", "coordination", "syncer"],
    // Secrets by which Pods talk to the control plane, as syncers make them use it: docs/adr/0033.
    "api-access": ["api", "agent", "coordination", "syncer"],
    // Copies of lost clusters, also those of tenants: docs/adr/0030, 0034.
    copies: ["api", "syncer", "compute"],
    // Ways to Pods, directly and through agents: docs/adr/0030.
    tunnel: ["api", "registration", "syncer"],
    // Offers what was negotiated, and says which clusters a workspace may use: docs/adr/0031.
    compute: ["api", "negotiation"],
  },
  controlplane: {
    certificates: [],
    kubeconfig: ["certificates"],
    backup: ["compose"],
    // An audit policy is a manifest.
    compose: ["kubeconfig", "certificates", "manifests"],
    manifests: [],
    testing: ["certificates", "compose", "manifests"],
    // Tests only: the same requests to a real server and to ours.
    "side-by-side": ["testing"],
  },
  cli: {
    commands: ["type-generator", "demo"],
    "type-generator": [],
    demo: [],
    "process-output": [],
    "workspace-browser": [],
    "workspace-plugin": ["process-output", "workspace-browser"],
    e2e: [],
  },
};

/** Doors that only tests of users go through: what is behind them may hold test tools. */
export const testDoors: readonly string[] = [
  "packages/controlplane/src/testing.ts",
  "packages/controlplane/src/testing/",
];

/** What the table may never say, whoever edits it. */
export const forbiddenArrows: readonly {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly because: string;
}[] = [
  {
    from: ["apiserver/storage"],
    to: [
      "apiserver/request",
      "apiserver/authentication",
      "apiserver/authorization",
      "apiserver/admission",
    ],
    because: "storage knows no users",
  },
  {
    from: ["apiserver/authentication", "apiserver/authorization", "apiserver/admission"],
    to: ["apiserver/storage", "apiserver/watch-cache", "apiserver/registry", "apiserver/http"],
    because: "gates know no storage and no HTTP: what they need is handed in",
  },
  { from: ["apiserver/request"], to: ["apiserver/*"], because: "vocabulary lives in a leaf" },
  { from: ["apiserver/*"], to: ["apiserver/http"], because: "nothing but http/ knows HTTP" },
  {
    from: ["controllers", "multicluster"],
    to: ["apiserver"],
    because: "controllers know no server",
  },
  { from: ["*"], to: ["testkit"], because: "what users run does not contain test tools" },
];

/** Sockets, and who may hold them. storage/etcd/grpc and the caller of webhooks are clients of their own. */
export const socketModules = ["node:http", "node:https", "node:http2", "node:tls", "node:net"];
export const socketFolders: Readonly<Record<string, readonly string[]>> = {
  apiserver: [
    "packages/apiserver/src/http/",
    "packages/apiserver/src/storage/etcd/grpc/",
    "packages/apiserver/src/webhooks/",
  ],
};

/** Folders below a room with a door of their own. */
export const subRooms = [
  "packages/apiserver/src/storage/memory",
  "packages/apiserver/src/storage/embedded",
  "packages/apiserver/src/storage/etcd",
  "packages/apiserver/src/storage/etcd/grpc",
];

/** Rooms without a door, each for a reason. */
export const openRooms: Readonly<Record<string, string>> = {
  "packages/apiserver/src/request": "the leaf vocabulary: its files are imported by name",
  "packages/controlplane/src/compose": "wiring that control-plane.ts, backup/ and testing/ read",
  "packages/cli/src/commands": "one verb per file; main.ts lists them",
  "packages/cli/src/e2e": "tests only",
};

/** Files that may be imported past their room's door. */
export const sideDoors: readonly string[] = [
  // The change feed is part of every backend and of the watch cache, not of what storage promises.
  "packages/apiserver/src/storage/feed.ts",
];
