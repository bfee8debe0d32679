/**
 * What people type, in documents: played by a test as it stands, or named here with the reason why
 * it is not.
 */

/** Tests that play all blocks of one language, in their order, of every guide that they name. */
export const players: readonly Player[] = [
  { by: "tests/integration/cli/guide.test.ts", language: "sh" },
  { by: "tests/scenarios/walkthroughs/debugging.ts", language: "console" },
  { by: "tests/scenarios/walkthroughs/operators.ts", language: "console" },
];

export interface Player {
  readonly by: string;
  readonly language: "sh" | "console";
}

/** Whether the source of a test names the guide: as `"drain.md"`, or by its path. */
export function isPlayedBy(source: string, path: string): boolean {
  const name = path.split("/").at(-1) ?? "";
  return source.includes(`"${name}"`) || source.includes(`/${path}"`);
}

export interface Unplayed {
  readonly document: string;
  /** The first line of the block. */
  readonly first: string;
  readonly reason: string;
}

const installs = "installs packages and runs what runs this test";
const outside = "needs binaries that are not part of the checkout";
const endless = "starts a server that runs until it is stopped; its flags are checked";

/**
 * Each block is left out for a reason of its own; its flags are checked all the same, where it is
 * about `kcp`.
 */
export const unplayed: readonly Unplayed[] = [
  { document: "README.md", first: "npm ci && npm start", reason: installs },
  {
    document: "docs/guides/upgrades.md",
    first: "kcp migrate-storage widgets.example.com --workspace root:team",
    reason: "needs a definition; tests/integration/cli/migrate-storage.test.ts runs it",
  },
  {
    document: "docs/guides/high-availability.md",
    first: "kcp standby --of primary.kubeconfig --root-directory standby --secure-port 6444",
    reason: endless,
  },
  ...["npx kcp-ts start", "npm install --global kcp-ts"].map((first) => ({
    document: "docs/guides/install.md",
    first,
    reason: installs,
  })),
  {
    document: "docs/guides/high-availability.md",
    first: "kcp backup --out kcp.backup",
    reason: "tests/integration/cli/backup.test.ts runs it",
  },
  {
    document: "docs/guides/upgrades.md",
    first: "kubectl --context system:admin",
    reason: "tests/integration/backup/formats.test.ts reads the same object",
  },
  {
    document: "docs/guides/install.md",
    first: "docker build --target control-plane",
    reason: "needs Docker; tools/dockerfile.test.ts writes the images' files and starts them",
  },
  {
    document: "docs/guides/install.md",
    first: "kubectl apply -f deploy/manifests/kcp.yaml",
    reason: "needs a cluster that runs images; tools/charts/charts.test.ts uses a simulated one",
  },
  {
    document: "docs/guides/install.md",
    first: "kcp start --storage memory",
    reason: "needs a cluster and an etcd; tests/integration/start-flags tests do the same in one",
  },
  {
    document: "docs/guides/install.md",
    first: "kubectl kcp workload sync us-east1 --helm-values",
    reason: "needs helm; tools/charts/charts.test.ts renders the chart",
  },
  { document: "docs/guides/console.md", first: "kcp console", reason: endless },
  { document: "docs/guides/console.md", first: "npx kcp-ts demo --console", reason: endless },
  { document: "README.md", first: "npm ci && npm test", reason: installs },
  {
    document: "README.md",
    first: "npx kcp-ts demo --auto",
    reason: "the tests of the demo play it, with a clock of their own",
  },
  {
    document: "README.md",
    first: "export KUBECONFIG=$PWD/.kcp/admin.kubeconfig",
    reason: "tests/integration/cli/readme.test.ts plays it, on a free port, and ends its watch",
  },
  {
    document: "README.md",
    first: "npx kcp-ts backup --out kcp.backup",
    reason: "restores into an etcd, which is not part of the checkout",
  },
  { document: "CONTRIBUTING.md", first: "npm ci && npm test", reason: installs },
  {
    document: "docs/multicluster.md",
    first: "$ kubectl set image deployment/web nginx=nginx:1.28",
    reason: "played as a transcript: tests/scenarios/walkthroughs/rollouts.ts",
  },
  {
    document: "docs/multicluster.md",
    first: "KUBEBUILDER_ASSETS=~/envtest npm test",
    reason: outside,
  },
  {
    document: "docs/multicluster.md",
    first: "$ kcp start &",
    reason:
      "begins with a cluster that the reader has; docs/guides/physical-clusters.md does it with a simulated one",
  },
  {
    document: "docs/guides/stateful.md",
    first: "$ kubectl get pvc data -o jsonpath",
    reason: "tests/integration/physical-clusters/volumes.test.ts looks at the same annotation",
  },
  {
    document: "docs/guides/stateful.md",
    first: "kubectl annotate pvc data workload.kcp.io/volume-migration=detach",
    reason: "tests/integration/physical-clusters/volumes.test.ts reads this line, and does it",
  },
  {
    document: "docs/guides/stateful.md",
    first: "kubectl annotate pvc data workload.kcp.io/volume-migration=snapshot",
    reason:
      "needs a CSI driver, which tests/integration/physical-clusters/volumes-snapshots.test.ts pretends",
  },
  {
    document: "docs/guides/stateful.md",
    first: "kubectl annotate pvc data workload.kcp.io/volume-copier",
    reason: "needs a hook, which tests/integration/physical-clusters/volumes.test.ts plays",
  },
  {
    document: "docs/guides/stateful.md",
    first: "$ kubectl kcp drain us-east1 --dry-run",
    reason:
      "tests/integration/physical-clusters/volumes.test.ts compares what a plan says with the refusal",
  },
  {
    document: "docs/guides/workload-kinds.md",
    first: "$ kubectl get secret key -o jsonpath",
    reason: "tests/integration/physical-clusters/follow.test.ts looks at the same annotation",
  },
  {
    document: "docs/guides/workload-kinds.md",
    first: "kubectl set image deployment/web",
    reason:
      "tests/integration/physical-clusters/rolling-updates.test.ts does the same and looks at what is ready meanwhile",
  },
  { document: "docs/guides/audit.md", first: "kcp start --audit-policy-file", reason: endless },
  {
    document: "docs/guides/audit.md",
    first: "kubectl --context shard-base get --raw /audit",
    reason: "the response does not end; audit/audit-tail.test.ts reads it",
  },
  {
    document: "docs/guides/authentication.md",
    first: "$ kcp start --service-account-signing-key-file",
    reason: endless,
  },
  {
    document: "docs/guides/authentication.md",
    first: "$ kcp start --oidc-issuer-url",
    reason: endless,
  },
  {
    document: "docs/guides/authentication.md",
    first: "$ kubectl apply -f csr.yaml",
    reason: "begins with a request that the reader has signed with a key of his own",
  },
  {
    document: "docs/guides/comparing-with-kubernetes.md",
    first: "npm test -- side-by-side",
    reason: installs,
  },
  {
    document: "docs/guides/comparing-with-kubernetes.md",
    first: "KUBEBUILDER_ASSETS=/path/to/binaries npm test",
    reason: outside,
  },
  {
    document: "docs/guides/comparing-with-kubernetes.md",
    first: "KUBEBUILDER_ASSETS=/path/to/binaries SIDE_BY_SIDE=record",
    reason: outside,
  },
  {
    document: "docs/guides/comparing-with-kubernetes.md",
    first: "KCP_BUNDLES=/path/to/bundles npm test",
    reason: outside,
  },
  {
    document: "docs/guides/sync-protocol.md",
    first: "kcp syncer --from-kubeconfig",
    reason: endless,
  },
  {
    document: "docs/guides/debugging.md",
    first: "$ kubectl port-forward deployment/web 8080:80 &",
    reason: "takes a port of the reader's",
  },
  {
    document: "docs/guides/debugging.md",
    first: "kcp start --etcd-servers https://etcd:2379",
    reason: endless,
  },
  {
    document: "docs/guides/operators.md",
    first: "kubectl label namespace messaging workload.kcp.io/api-address",
    reason:
      "names an address of the reader's; tests/integration/physical-clusters/api-access tests connect by it",
  },
  {
    document: "docs/guides/testing.md",
    first: "npx kcp-ts test-server -- pytest",
    reason: "runs test suites of the reader",
  },
  {
    document: "docs/guides/types.md",
    first: "npx kcp-ts generate types --out src/types",
    reason:
      "reads a cluster and files of the reader; tests/integration/cli/test-server.test.ts generates types of both",
  },
  { document: "docs/guides/shards.md", first: "kcp start --shards 4", reason: endless },
  {
    document: "docs/guides/shards.md",
    first: "export KUBECONFIG=.kcp/admin.kubeconfig",
    reason: "tests/integration/cli/shards.test.ts starts shards and uses both",
  },
  {
    document: "docs/guides/shards.md",
    first: "kubectl annotate shard shard-1 experimental.core.kcp.io/unschedulable=true",
    reason: "packages/tenancy/src/shards/workspaces-on-shards.test.ts cordons a shard",
  },
  {
    document: "docs/guides/shards.md",
    first: "kcp start --shard-name b --root-directory /var/lib/kcp-b \\",
    reason: endless,
  },
];
