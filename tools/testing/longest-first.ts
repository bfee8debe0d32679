/** The order in which test files begin: those that take long first, so that the lanes end together. */

/** Those that take more than ten seconds of processor time, or wait as long; a test fails when one is no more. */
export const longFiles: readonly string[] = [
  "tools/bench/bench",
  "packages/cli/src/e2e/guide",
  "packages/controlplane/src/physical-clusters/traffic",
  "packages/tenancy/src/isolation",
  "packages/controlplane/src/physical-clusters/drain",
  "packages/cli/src/e2e/workspace-plugin",
  "packages/controlplane/src/physical-clusters/volumes-ordinals",
  "packages/cli/src/e2e/kubectl-kinds",
  "packages/controlplane/src/use-cases/simulated",
  "packages/multicluster/src/coordination/fleet-histories",
  "packages/controlplane/src/physical-clusters/registration",
  "packages/cli/src/e2e/kubectl",
  "tools/docs/code-blocks",
  "packages/controlplane/src/physical-clusters/debugging/tunnel",
  "packages/controlplane/src/physical-clusters/api-access",
  "packages/controlplane/src/physical-clusters/placement",
  "packages/controlplane/src/physical-clusters/volumes-kinds",
  "packages/controlplane/src/physical-clusters/compute",
  "packages/controlplane/src/physical-clusters/volumes",
  "packages/controlplane/src/physical-clusters/workload-kinds",
  "packages/controlplane/src/physical-clusters/debugging/tenants",
  "packages/controlplane/src/physical-clusters/debugging/copies",
  "packages/cli/src/e2e/demo",
  "packages/cli/src/e2e/pull-mode",
  "tools/testing/run-tests",
  "packages/cli/src/e2e/start-up",
  "packages/controlplane/src/physical-clusters/pull-mode",
  "packages/controlplane/src/physical-clusters/compute-admin",
  "packages/controlplane/src/physical-clusters/debugging/metrics",
  "packages/controlplane/src/physical-clusters/follow",
  "packages/controlplane/src/physical-clusters/deployment-splitter",
  "packages/controlplane/src/backup/large-store",
  "packages/controlplane/src/soak/informer-soak",
  "packages/controlplane/src/control-loops/election",
  "packages/cli/src/e2e/kill",
  "packages/cli/src/e2e/fenced-agent",
  "packages/multicluster/src/coordination/fleet-laws",
  "packages/apiserver/src/storage/etcd/etcd-failover",
  "packages/kcp-ts/src/examples",
];

/** The named ones in their order, then the others in theirs. */
export function longestFirst(
  files: readonly string[],
  nameOf: (file: string) => string,
): readonly string[] {
  const ranks = new Map(longFiles.map((name, index) => [name, index]));
  const rankOf = (file: string) => ranks.get(nameOf(file)) ?? longFiles.length;
  return files.toSorted((a, b) => rankOf(a) - rankOf(b));
}
