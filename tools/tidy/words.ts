/**
 * Private words that exported names, schemas, reasons, help texts and test titles do without, and
 * the words to write instead: Kubernetes' own first, then those of kcp, Karmada, OCM and Node. Only
 * words with one meaning are listed: a word that is also plain English is listed for names alone,
 * or not at all.
 */
type Words = Readonly<Record<string, string>>;

const namedThing = "the thing by its name: the syncer, the client, the tenant";
const shares = "serves or shares; a compute workspace exports clusters, others bind";

/** In names and in prose. A phrase stands for its words in a row. */
export const forbiddenWords: Words = {
  whoever: namedThing,
  nobody: namedThing,
  somebody: namedThing,
  wholes: "workloads",
  "the whole and its parts": "the workload and its per-cluster objects",
  standing: "cluster state",
  standings: "cluster states",
  wavering: "NotReady",
  fleet: "clusters, or ClusterSet",
  fleets: "clusters",
  patience: "grace periods, or a timeout",
  purse: "availability budget",
  hungry: "deficits",
  forgo: "scale-down allowance",
  gently: "with guards",
  prospect: "scheduling result",
  surroundings: "scheduling input",
  assessment: "scheduling result",
  whereabouts: "location",
  crowd: "watcher group",
  intake: "inbound budget",
  outlet: "outbound budget",
  overtaking: "small-request bypass",
  visitor: "flow-controlled request",
  verdict: "result",
  verdicts: "results",
  judgement: "evaluation",
  companions: "prerequisites",
  detour: "unresolved target",
  happening: "Event",
  happenings: "Events",
  trouble: "sync error",
  untold: "unacknowledged",
  told: "reported, or recorded",
  upkeep: "maintenance",
  ledger: "reservation cache",
  leftovers: "remaining content",
  occupant: "assigned object",
  occupants: "assigned objects",
  overhang: "lost fields",
  takeover: "migration",
  "takes over from": "migrates from",
  befall: "happen",
  befalls: "happens",
  befell: "happened",
  pretend: "simulated",
  pretended: "simulated",
  lend: shares,
  lends: shares,
  lent: shares,
  lending: shares,
  stranger: "unauthenticated client",
  strangers: "unauthenticated clients",
  "in pieces": "resumable, or yielding to the event loop",
  "other work": "yields to the event loop",
  "hands off": "unmanaged",
  "under way": "in flight",
  "quiet time": "idle time",
  "quiet times": "idle times",
  transcripts: "scenarios",
};

/** In names alone: as English these words are innocent. */
export const forbiddenInNames: Words = {
  whole: "workload",
  piece: "step of a Resumable",
  pieces: "Resumable",
  promptly: "runYielding",
  tell: "notify, record, or acknowledge",
  tells: "notifies",
  answer: "response",
  answers: "responses",
  judge: "validate, or evaluate",
  presented: "toServed",
  besides: "virtualResources",
  gone: "deleted",
  wish: "request, or preferences",
  news: "notification",
  social: "hasAffinity",
  stray: "violatesAffinity",
  door: "entry point",
  doors: "entry points",
  room: "folder, capacity, or maxReplicas",
  rooms: "folders, or dependencies",
  natives: "native resources",
  neighbour: "existing workload, or noisy tenant",
  neighbours: "existing workloads",
  contested: "conflicting",
  quiet: "idle",
  ground: "test environment",
  grounds: "test environments",
  journey: "migration",
  obstacle: "reason",
};

/** Fields of schemas. */
export const forbiddenFields: Words = {
  bounds: "resourceLimits",
  atMostOne: "failover.strategy: StopBeforeStart",
  decommission: "deleteAfterDrain",
  evictAfter: "unschedulable and drain",
};

/**
 * Types and reasons of conditions and Events, and states of clusters, as they are written in code.
 */
export const forbiddenReasons: Words = {
  Split: "Scheduled, with AllReplicasScheduled or PartiallyScheduled; Event ScaledCluster",
  Unfenced: "AwaitingFencing",
  DataStays: "VolumeNotMovable",
  DataGone: "VolumeLost",
  NowhereToGo: "NoFeasibleCluster",
  AssignedByHand: "PinnedToCluster",
  NameTaken: "NameConflict",
  AgentSilent: "AgentHeartbeatMissed",
  ErrorHeartbeat: "WaitingForAgent",
  ClaimedByOthers: "SharedOwnership",
  wavering: "NotReady",
  settling: "Recovering",
};
