/** The order in which test files begin: those that take long first, so that the lanes end together. */

/** Seconds on a quiet machine with two cores, roughly; files that are not named take less. A name that matches no file fails a test. */
export const longFiles: readonly string[] = [
  "packages/cli/src/e2e/guide",
  "packages/cli/src/e2e/workspace-plugin",
  "packages/cli/src/e2e/kubectl-kinds",
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
