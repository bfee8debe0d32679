/**
 * Names of logical clusters, and paths through the tree of workspaces.
 *
 * A cluster name is the identity under which a logical cluster is stored; a path is what people type. The brand
 * makes it impossible to pass one for the other, or a namespace for either.
 */
import type { Brand } from "../base/index.ts";

export type ClusterName = Brand<string, "ClusterName">;

/** Where requests without a cluster go. */
export const rootCluster = "root" as ClusterName;

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const systemPattern =
  /^system:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){0,7}$/;

/** The name, or undefined when the text cannot be one. */
export function parseClusterName(text: string): ClusterName | undefined {
  return namePattern.test(text) || systemPattern.test(text) ? (text as ClusterName) : undefined;
}

// Paths through the tree of workspaces: `root:org:team`. The first word is the name of a logical cluster, each further one the name of a
// Workspace in the cluster before it.
//
// What begins with `system:` is a name and never a path.

/** At least two words. */
export interface ClusterPath {
  readonly text: string;
  readonly words: readonly string[];
}

/** Workspaces below one another; deeper ones are still there under the name of one of their ancestors. */
export const pathWordsMax = 64;
/** A path is read from every request line that has one. */
export const pathCharactersMax = 4096;

const word = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A name, a path of several words, or undefined when the text is neither. */
export function parseClusterReference(text: string): ClusterName | ClusterPath | undefined {
  const name = parseClusterName(text);
  if (name !== undefined) return name;
  if (text.length > pathCharactersMax || text.startsWith("system:")) return undefined;
  const words = text.split(":");
  if (words.length < 2 || words.length > pathWordsMax) return undefined;
  // The names of users are wider than those of workspaces.
  const first = words[0] === "user" ? 2 : 0;
  if (first === 2 && !isUserWord(words[1] as string)) return undefined;
  for (let at = first; at < words.length; at++)
    if (!word.test(words[at] as string)) return undefined;
  return { text, words };
}

/** Whether `user:<name>` is a path. Other users' homes have none but the name of their logical cluster: a colon in it would lead elsewhere. */
export function isUserWord(username: string): boolean {
  return userWord.test(username);
}

const userWord = /^[a-zA-Z0-9](?:[a-zA-Z0-9._@-]{0,251}[a-zA-Z0-9])?$/;
