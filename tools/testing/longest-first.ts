/**
 * The order in which test files begin: those that take long first, so that the lanes end together.
 */

/**
 * Those that take more than ten seconds of processor time, or wait as long; a test fails when one
 * is no more.
 */
export const longFiles: readonly string[] = [
  "tools/bench/bench",
  "tests/integration/cli/guide",
  "tests/integration/physical-clusters/traffic",
  "packages/tenancy/src/isolation",
  "tests/integration/physical-clusters/drain",
  "tests/integration/cli/workspace-plugin",
  "tests/integration/physical-clusters/volumes-ordinals",
  "tests/integration/cli/kubectl-kinds",
  "tests/scenarios/use-cases/simulated",
  "tests/integration/physical-clusters/registration",
  "tests/integration/cli/kubectl",
  "tools/docs/code-blocks",
  "tests/integration/physical-clusters/debugging/tunnel",
  "tests/integration/physical-clusters/api-access",
  "tests/integration/physical-clusters/placement",
  "tests/integration/physical-clusters/volumes-kinds",
  "tests/integration/physical-clusters/compute",
  "tests/integration/physical-clusters/volumes",
  "tests/integration/physical-clusters/workload-kinds",
  "tests/integration/physical-clusters/debugging/tenants",
  "tests/integration/physical-clusters/debugging/copies",
  "tests/integration/cli/demo",
  "tests/integration/cli/pull-mode",
  "tools/testing/run-tests",
  "tests/integration/cli/start-up",
  "tests/integration/physical-clusters/pull-mode",
  "tests/integration/physical-clusters/compute-admin",
  "tests/integration/physical-clusters/debugging/metrics",
  "tests/integration/physical-clusters/follow",
  "tests/integration/physical-clusters/deployment-splitter",
  "tests/integration/backup/large-store",
  "tests/conformance/soak/informer-soak",
  "tests/integration/control-loops/election",
  "tests/integration/cli/kill",
  "tests/integration/cli/fenced-agent",
  "packages/apiserver/src/storage/etcd/etcd-failover",
  "packages/kcp-ts/src/examples",
];

/** The named ones in their order, then those of several packages, then the others in theirs. */
export function longestFirst(
  files: readonly string[],
  nameOf: (file: string) => string,
): readonly string[] {
  const ranks = new Map(longFiles.map((name, index) => [name, index]));
  const rankOf = (name: string) =>
    ranks.get(name) ?? longFiles.length + (name.startsWith("tests/") ? 0 : 1);
  return files.toSorted((a, b) => rankOf(nameOf(a)) - rankOf(nameOf(b)));
}
