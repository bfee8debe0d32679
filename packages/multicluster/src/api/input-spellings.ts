/**
 * Other spellings of labels and annotations, which are read as input and never written: the
 * spellings of this project's founding documents and of kcp's releases. No other file contains
 * them.
 */

/** Alternative spellings by the spelling that is written. */
const inputSpellings = {
  // The first two are of the founding documents and of kcp 0.3 to 0.5, the third is of kcp 0.1 and
  // 0.2.
  "workload.kcp.io/cluster": [
    "workloads.kcp.io/cluster",
    "workloads.kcp.dev/cluster",
    "kcp.dev/cluster",
  ],
  // The spelling of kcp 0.1 to 0.5.
  "workload.kcp.io/owned-by": ["kcp.dev/owned-by"],
  // The spelling of kcp 0.3 to 0.9.
  "kcp.io/namespace-locator": ["kcp.dev/namespace-locator"],
} as const;

/** All spellings of a key, in order of precedence. */
export function spellingsOf(key: keyof typeof inputSpellings): readonly string[] {
  return [key, ...inputSpellings[key]];
}
