/**
 * Who may import whom. Anything that is not listed is forbidden; a new arrow is a decision
 * (docs/adr), made here.
 */
export interface PackageRule {
  /** Other packages of ours. */
  readonly packages: readonly string[];
  /** Rooms that may use Node; `everywhere` when the package runs on Node only. */
  readonly node: "everywhere" | readonly string[];
}

export const packageTable: Readonly<Record<string, PackageRule>> = {
  machinery: { packages: [], node: [] },
  pki: { packages: ["machinery"], node: "everywhere" },
  // Of the process: what V8 and the C library keep.
  "process-memory": { packages: ["machinery"], node: "everywhere" },
  apiserver: { packages: ["machinery"], node: "everywhere" },
  // Extends the API server by what any embedder has.
  tenancy: { packages: ["machinery", "apiserver"], node: "everywhere" },
  // Also runs in browsers, but for where kubeconfigs are read and sockets opened.
  sdk: {
    packages: ["machinery"],
    node: [
      "kubeconfig",
      "transport",
      "fake-server",
      "websocket",
      "inventory",
      "client-node",
      "run",
    ],
  },
  controllers: { packages: ["machinery", "sdk"], node: [] },
  multicluster: { packages: ["machinery", "sdk"], node: "everywhere" },
  // The half of it that lives inside the server.
  "multicluster-server": {
    packages: ["machinery", "sdk", "apiserver", "tenancy", "multicluster"],
    node: "everywhere",
  },
  // Garbage is collected and namespaces are emptied by the same loops as ours: docs/adr/0011.
  simulator: {
    packages: ["machinery", "pki", "sdk", "apiserver", "controllers"],
    node: "everywhere",
  },
  controlplane: {
    packages: [
      "machinery",
      "pki",
      "process-memory",
      "sdk",
      "apiserver",
      "tenancy",
      "controllers",
      "multicluster",
      "multicluster-server",
    ],
    node: "everywhere",
  },
  // The published test server.
  testing: {
    packages: ["machinery", "pki", "sdk", "apiserver", "tenancy", "multicluster", "controlplane"],
    node: "everywhere",
  },
  cli: {
    packages: ["machinery", "sdk", "multicluster", "simulator", "controlplane", "testing"],
    node: "everywhere",
  },
  // Runs in browsers: docs/adr/0084; so does the manifest of agents: 0089.
  console: { packages: ["machinery", "sdk", "multicluster"], node: [] },
  // The published one: doors only.
  "kcp-ts": {
    packages: [
      "machinery",
      "pki",
      "sdk",
      "apiserver",
      "tenancy",
      "multicluster",
      "simulator",
      "controlplane",
      "testing",
    ],
    node: [],
  },
  testkit: { packages: ["machinery"], node: "everywhere" },
  // What needs the whole product.
  tests: {
    packages: [
      "machinery",
      "pki",
      "sdk",
      "apiserver",
      "tenancy",
      "controllers",
      "multicluster",
      "multicluster-server",
      "simulator",
      "controlplane",
      "testing",
    ],
    node: "everywhere",
  },
};

/** Packages from npm that are few on purpose. Others may use what their own manifest declares. */
export const externalTable: Readonly<Record<string, readonly string[]>> = {
  machinery: ["re2js"],
  sdk: ["js-yaml"],
};

/**
 * Rooms of a package: the folders of its src. Files beside the rooms are wiring and may import
 * every room of their package.
 */
export const folderTable: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  machinery: {
    base: [],
    json: ["base"],
    // What others may make large: docs/adr/0064.
    bounds: ["base", "json"],
    names: ["base"],
    status: ["json"],
    table: [],
    selectors: ["names", "status"],
    meta: ["base", "json", "names", "status"],
    patch: ["base", "json", "status"],
    shape: ["base", "bounds", "json", "patch", "apply"],
    // What objects use of quotas: docs/adr/0093.
    quota: ["json", "shape"],
    schema: ["base", "bounds", "json", "status", "cel"],
    cel: ["base", "json"],
    compat: ["base", "json", "schema"],
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
    // A gRPC client, for etcd and for KMS plug-ins: docs/adr/0097.
    grpc: [],
    storage: ["event-loop", "grpc"],
    metrics: [],
    http2: ["event-loop"],
    http: ["request", "event-loop", "http2"],
    authentication: ["request"],
    authorization: ["request"],
    admission: ["request"],
    "flow-control": ["request", "event-loop", "metrics"],
    audit: ["request", "metrics"],
    "stored-object": ["storage"],
    // Between what is stored and a backend: docs/adr/0087.
    encryption: ["storage", "grpc"],
    "watch-cache": ["request", "event-loop", "storage", "stored-object"],
    registry: ["request", "storage", "stored-object", "watch-cache"],
    manifests: ["content"],
    webhooks: ["request"],
    "custom-resources": [
      "request",
      "storage",
      "stored-object",
      "watch-cache",
      "registry",
      "webhooks",
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
      "webhooks",
    ],
    // Supplies what authentication and authorization declare; they know none of these.
    "access-sources": [
      "request",
      "admission",
      "authentication",
      "authorization",
      "handlers",
      "registry",
      "storage",
      "stored-object",
      "watch-cache",
    ],
    // Supplies what flow-control declares.
    "flow-control-sources": [
      "request",
      "admission",
      "flow-control",
      "registry",
      "storage",
      "stored-object",
      "watch-cache",
    ],
    "store-upkeep": ["metrics", "registry", "storage", "stored-object", "watch-cache"],
    // What the stages of the pipeline are made of.
    stages: [
      "request",
      "audit",
      "authentication",
      "authorization",
      "content",
      "flow-control",
      "handlers",
      "metrics",
      "registry",
      "routing",
      "tracing",
    ],
    // OpenTelemetry: docs/adr/0099.
    tracing: ["request"],
    content: ["request", "event-loop", "registry"],
    health: ["request", "content"],
    discovery: ["request", "content", "registry"],
    openapi: ["request", "content", "registry"],
    // Files of the console: docs/adr/0084.
    "static-site": ["request"],
    // Revisions, keys and entries of storage are words here; reads and writes go through registry
    // and watch-cache.
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
    // A standby of the embedded store: docs/adr/0098.
    replication: ["request", "storage", "backup"],
    routing: [
      "request",
      "content",
      "backup",
      "replication",
      "discovery",
      "health",
      "metrics",
      "openapi",
      "registry",
    ],
  },
  tenancy: {
    // Routes and connections of shards: docs/adr/0094.
    shards: ["mounts"],
    // Objects of other shards: docs/adr/0095.
    replicas: [],
    workspaces: ["replicas", "shards"],
    topology: ["replicas", "workspaces"],
    "api-sharing": ["replicas", "workspaces", "topology", "shards"],
    access: ["replicas", "workspaces", "api-sharing"],
    mounts: [],
  },
  sdk: {
    client: [],
    // Generated types and resources of kinds: docs/adr/0075.
    kinds: ["client"],
    metrics: ["client"],
    transport: ["client"],
    // For tunnels and for pretended containers: docs/adr/0030.
    websocket: ["client"],
    discovery: ["client"],
    informer: ["client", "metrics"],
    "work-queue": ["metrics"],
    "leader-election": ["client", "kinds", "metrics"],
    kubeconfig: ["client", "transport"],
    // For tests of controllers.
    "fake-server": ["client"],
    controller: ["client", "informer", "kinds", "leader-election", "metrics", "work-queue"],
    // Own kinds from TypeScript; apart, because it weighs more than a client.
    schema: ["client", "controller", "kinds"],
    // Clusters from kubeconfigs and ClusterProfiles: docs/adr/0090.
    inventory: ["client", "controller", "informer", "kinds", "kubeconfig"],
    // For programs that come from client-node: docs/adr/0090.
    "client-node": ["client", "informer", "kubeconfig"],
    // A program in one call: docs/adr/0085.
    run: ["client", "controller", "kubeconfig", "leader-election", "metrics"],
  },
  simulator: {
    shapes: [],
    // Containers that can be talked to: docs/adr/0030.
    containers: [],
    kinds: ["shapes", "containers"],
    api: [],
    workloads: ["api"],
    nodes: ["api"],
    frontend: [],
  },
  multicluster: {
    api: [],
    "api-import": [],
    // Made in browsers, too: docs/adr/0089.
    "agent-manifest": ["api", "syncer"],
    agent: ["api", "agent-manifest", "syncer"],
    registration: ["api", "agent", "syncer"],
    "api-importer": ["api", "api-import", "registration"],
    negotiation: ["api"],
    syncer: ["api"],
    scheduling: ["api"],
    coordination: ["api", "scheduling"],
    // Decides as they do, about what might be: docs/adr/0026; what claims would refuse: 0043; also
    // in clusters of others: 0054.
    explain: ["api", "scheduling", "coordination", "volumes", "compute"],
    // Where agents see what is theirs in other workspaces, too: docs/adr/0031; and where a whole is
    // to be: 0043.
    drain: ["api", "agent", "coordination"],
    // Parts, clusters and how far they are trusted are the splitter's words.
    traffic: ["api", "coordination"],
    // Claims are read off what is synced, and their parts off what is split.
    volumes: ["api", "coordination", "syncer"],
    // Secrets by which Pods talk to the control plane, as syncers make them use it: docs/adr/0033.
    "api-access": ["api", "agent", "coordination", "syncer"],
    // Copies of lost clusters, also those of tenants: docs/adr/0030, 0034.
    "upsynced-pods": ["api", "syncer", "compute"],
    // Ways to Pods, directly and through agents: docs/adr/0030.
    tunnel: ["api", "registration", "syncer"],
    // Offers what was negotiated, and says which clusters a workspace may use: docs/adr/0031.
    compute: ["api", "negotiation"],
  },
  controlplane: { backup: ["compose"], compose: [] },
  // Effects are in `session` and `live`; screens draw what these hold: docs/adr/0084.
  console: {
    session: [],
    navigation: ["session"],
    live: ["session"],
    elements: ["navigation"],
    // Parts that only some pages load: docs/adr/0089.
    streams: [],
    terminal: [],
    "yaml-help": ["elements", "live"],
    screens: ["session", "navigation", "live", "elements", "streams", "terminal", "yaml-help"],
  },
  cli: {
    commands: ["type-generator", "demo", "completion", "operations", "console-proxy"],
    // Words for shells, of any command line.
    completion: [],
    // What `kcp status` and `kcp doctor` read and check, and how a cluster is registered.
    operations: [],
    // A server on loopback that adds the kubeconfig's credentials: docs/adr/0084.
    "console-proxy": [],
    "type-generator": [],
    demo: ["workspace-plugin"],
    "process-output": [],
    "workspace-browser": [],
    "workspace-plugin": ["process-output", "workspace-browser"],
  },
  tests: {
    // Some tests of physical clusters borrow real ones from `test-environments`.
    integration: ["scenarios"],
    conformance: [],
    scenarios: [],
    // The whole product on simulated time, network and disk, by seed: docs/adr/0078.
    simulation: [],
  },
};

/**
 * What only tests go through, ours and those of users: it may hold test tools, and enter doors
 * named `internal`.
 */
export const testEntryPoints: readonly string[] = ["packages/testing/src/", "tests/"];

/** Doors for tests of our own packages: what is behind them is no part of what users run. */
export const ownTestEntryPoints: readonly string[] = ["packages/apiserver/src/testing/index.ts"];

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
  { from: ["apiserver"], to: ["tenancy"], because: "the API server knows no workspaces" },
  {
    from: ["controllers", "multicluster"],
    to: ["apiserver"],
    because: "controllers know no server",
  },
  { from: ["*"], to: ["testkit"], because: "what users run does not contain test tools" },
];

/**
 * Sockets, and who may hold them. grpc and the caller of webhooks are clients of their
 * own.
 */
export const socketModules = ["node:http", "node:https", "node:http2", "node:tls", "node:net"];
export const socketFolders: Readonly<Record<string, readonly string[]>> = {
  apiserver: [
    "packages/apiserver/src/http/",
    "packages/apiserver/src/grpc/",
    "packages/apiserver/src/tracing/",
    "packages/apiserver/src/webhooks/",
  ],
  // Requests to workspaces that are served elsewhere are sent on, also to other shards.
  tenancy: ["packages/tenancy/src/mounts/", "packages/tenancy/src/shards/"],
};

/** Folders below a room with a door of their own. */
export const subfolders = [
  "packages/apiserver/src/storage/memory",
  "packages/apiserver/src/storage/embedded",
  "packages/apiserver/src/storage/etcd",
];

/** Rooms without a door, each for a reason. */
export const openFolders: Readonly<Record<string, string>> = {
  "packages/apiserver/src/request": "the leaf vocabulary: its files are imported by name",
  "packages/controlplane/src/compose": "wiring that control-plane.ts and backup/ read",
  "packages/cli/src/commands": "one verb per file; main.ts lists them",
};

/** Files that may be imported past their room's door. */
export const furtherEntryPoints: readonly string[] = [
  // The change feed is part of every backend and of the watch cache, not of what storage promises.
  "packages/apiserver/src/storage/change-feed.ts",
  // Words without Node: the manifest of an agent is made in browsers, too.
  "packages/multicluster/src/api/default-resources.ts",
  "packages/multicluster/src/api/names.ts",
  "packages/multicluster/src/api/synced-natives.ts",
  // The suite of every store, also of one that is around another.
  "packages/apiserver/src/storage/contract/storage-contract.ts",
];
