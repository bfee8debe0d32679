/**
 * Names of logical clusters, and paths in the tree of workspaces.
 *
 * A cluster name is the identity under which a logical cluster is stored; a path is what users
 * type. Branded types prevent passing one for the other, or a namespace for either.
 */
import type { Brand } from "../base/index.ts";

export type ClusterName = Brand<string, "ClusterName">;

/** The cluster of requests without a cluster in their path. */
export const rootCluster = "root" as ClusterName;

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const systemPattern =
  /^system:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){0,7}$/;

/** The name, or undefined for an invalid one. */
export function parseClusterName(text: string): ClusterName | undefined {
  return namePattern.test(text) || systemPattern.test(text) ? (text as ClusterName) : undefined;
}

// Paths through the tree of workspaces: `root:org:team`. The first word is the name of a logical
// cluster, each further one the name of a Workspace in the cluster before it.
//
// What begins with `system:` is a name and never a path.

/** At least two words. */
export interface ClusterPath {
  readonly text: string;
  readonly words: readonly string[];
}

/**
 * The maximum depth of a path; deeper workspaces are still reachable under the cluster name of one
 * of their ancestors.
 */
export const pathWordsMax = 64;
/** The maximum length of a path, which is parsed from every request line that has one. */
export const pathCharactersMax = 4096;

const word = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A name, a path of several words, or undefined for any other text. */
export function parseClusterReference(text: string): ClusterName | ClusterPath | undefined {
  const name = parseClusterName(text);
  if (name !== undefined) return name;
  if (text.length > pathCharactersMax || text.startsWith("system:")) return undefined;
  const words = text.split(":");
  if (words.length < 2 || words.length > pathWordsMax) return undefined;
  // Names of users allow more characters than those of workspaces.
  const first = words[0] === "user" ? 2 : 0;
  if (first === 2 && !isUserWord(words[1] as string)) return undefined;
  for (let at = first; at < words.length; at++)
    if (!word.test(words[at] as string)) return undefined;
  return { text, words };
}

/**
 * Whether `user:<name>` is a path. Homes of other users are reachable only by the name of their
 * logical cluster: a colon in the user's name would lead to another path.
 */
export function isUserWord(username: string): boolean {
  return userWord.test(username);
}

const userWord = /^[a-zA-Z0-9](?:[a-zA-Z0-9._@-]{0,251}[a-zA-Z0-9])?$/;
