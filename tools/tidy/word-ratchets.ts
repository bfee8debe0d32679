/**
 * Files in which forbidden words still stand: path to how many. Numbers shrink and lines go; a new
 * line needs a reason that holds in a review.
 */
type Ratchet = Readonly<Record<string, number>>;

export const titleWordsAllowed: Ratchet = {
  "packages/apiserver/src/http/few-descriptors.test.ts": 1,
  "packages/tenancy/src/api-sharing/crashes.test.ts": 1,
  "tests/integration/physical-clusters/hostile-answers.test.ts": 1,
  "tests/integration/security/forged-metadata.test.ts": 1,
  "tests/integration/workspaces/visibility.test.ts": 1,
  "tools/docs/markdown.test.ts": 1,
  "tools/docs/shell-blocks.test.ts": 1,
  "tools/testing/prerequisites.test.ts": 1,
};
