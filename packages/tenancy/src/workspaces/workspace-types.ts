/**
 * Resolves WorkspaceTypes: the type of a reference, the types that it extends, and the types that
 * are allowed below others.
 */
import { collectionKeyOf } from "@kcp-ts/apiserver/registry";
import { unresolvedCluster } from "@kcp-ts/apiserver/request/request-scope";
import { objectKey } from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { workspaceTypes } from "./kinds/definitions.ts";
import type { DefaultBinding, TypeLimit, TypeReference, WorkspaceTypeRecord } from "./records.ts";
import type { RecordSource } from "./shared-records.ts";
import type { WorkspaceTree } from "./workspace-tree.ts";

/** The one identifier without a type: it stands for the default bindings of all types. */
export const bindingsInitializer = "system:apibindings";

/** The maximum of types that one type extends: a longer chain is a mistake. */
export const aliasesMax = 100;

/**
 * References among a type and all types that it extends: types that all extend each other would
 * have 5,000, and each costs a decision of authorization.
 */
export const referencesMax = 1_000;

/** One resolution of a type: the types that lead to the present one, and what was seen so far. */
interface TypeWalk {
  readonly above: readonly string[];
  readonly mayUse: CanUseType;
  readonly visited: { references: number };
}

/** A type with all types that it extends, itself last. */
export interface ResolvedType {
  readonly type: WorkspaceTypeRecord;
  readonly aliases: readonly WorkspaceTypeRecord[];
}

/** The reason why a type cannot be used, as an error message. */
export class WorkspaceTypeError extends Error {}

/** Whether a user may use types of a name in a logical cluster, whether they exist or not. */
export type CanUseType = (cluster: ClusterName, name: string) => Promise<boolean>;

const everybody: CanUseType = async () => true;

export class WorkspaceTypes {
  readonly #types: RecordSource<WorkspaceTypeRecord>;
  readonly #tree: WorkspaceTree;

  constructor(types: RecordSource<WorkspaceTypeRecord>, tree: WorkspaceTree) {
    this.#types = types;
    this.#tree = tree;
  }

  /** Finds the type of a reference with a path, exactly there. */
  async find(path: string, name: string): Promise<WorkspaceTypeRecord | undefined> {
    const cluster = await this.#clusterAt(path);
    return cluster === undefined ? undefined : this.#typeIn(cluster, name);
  }

  /**
   * Finds the type of a user's reference: with a path exactly there, else the nearest that the user
   * may use in the parent, in its ancestors, in root. The authorization precedes the lookup: the
   * error is the same whether the type exists or not.
   */
  async findFor(
    mayUse: CanUseType,
    { name, path }: TypeReference,
    parentPath: string,
  ): Promise<ResolvedType> {
    const asked = path === undefined ? name : `${path}:${name}`;
    let isAllowed = false;
    for (const place of path === undefined ? placesAbove(parentPath) : [path]) {
      const cluster = await this.#clusterAt(place);
      if (!(await mayUse(cluster ?? unresolvedCluster, name))) continue;
      isAllowed = true;
      const type = cluster && (await this.#typeIn(cluster, name));
      if (type !== undefined) return this.resolve(type, mayUse);
    }
    throw isAllowed ? cannotBeResolved(asked) : mayNotBeUsed(asked);
  }

  /**
   * Resolves a type for a user with permission to use all types that it extends, or for the system.
   */
  async resolve(type: WorkspaceTypeRecord, mayUse: CanUseType = everybody): Promise<ResolvedType> {
    const aliases = new Map<string, WorkspaceTypeRecord>();
    await this.#collect(type, aliases, { above: [], mayUse, visited: { references: 0 } });
    return { type, aliases: [...aliases.values()] };
  }

  async #clusterAt(path: string): Promise<ClusterName | undefined> {
    const found = await this.#tree.resolvePathText(path);
    return found.kind === "cluster" ? found.cluster : undefined;
  }

  async #typeIn(cluster: ClusterName, name: string): Promise<WorkspaceTypeRecord | undefined> {
    const key = objectKey({ ...collectionKeyOf(workspaceTypes), cluster, namespace: "", name });
    return this.#types.get(key);
  }

  async #collect(
    type: WorkspaceTypeRecord,
    aliases: Map<string, WorkspaceTypeRecord>,
    walk: TypeWalk,
  ): Promise<void> {
    const { above, mayUse, visited } = walk;
    const id = initializerNameOf(type);
    if (above.includes(id)) {
      throw new WorkspaceTypeError(
        `circular dependency detected in workspace type ${typePathOf(type)}: ${[...above, id].join(" -> ")}`,
      );
    }
    if (aliases.has(id)) return;
    visited.references += type.extends.length;
    if (visited.references > referencesMax)
      throw new WorkspaceTypeError(
        `workspace type ${typePathOf(type)} and the types that it extends have more than ${referencesMax} references`,
      );
    for (const { name, path } of type.extends) {
      const asked = `${path ?? type.path}:${name}`;
      const cluster = await this.#clusterAt(path ?? type.path);
      if (!(await mayUse(cluster ?? unresolvedCluster, name))) throw mayNotBeUsed(asked);
      const extended = cluster && (await this.#typeIn(cluster, name));
      if (extended === undefined) throw cannotBeResolved(asked);
      await this.#collect(extended, aliases, { ...walk, above: [...above, id] });
      if (aliases.size > aliasesMax)
        throw new WorkspaceTypeError(
          `workspace type ${typePathOf(type)} extends more than ${aliasesMax} types`,
        );
    }
    aliases.set(id, type);
  }
}

function placesAbove(path: string): readonly string[] {
  const words = path.startsWith("system:") ? [path] : path.split(":");
  const places = words.map((_, at) => words.slice(0, words.length - at).join(":"));
  return words[0] === "root" ? places : [...places, "root"];
}

function cannotBeResolved(asked: string): WorkspaceTypeError {
  return new WorkspaceTypeError(`workspace type "${asked}" cannot be resolved`);
}

function mayNotBeUsed(asked: string): WorkspaceTypeError {
  return new WorkspaceTypeError(
    `unable to use workspace type ${asked}: missing verb='use' permission on workspacetype`,
  );
}

/**
 * The name of a type's initializer or terminator: it has the name of the cluster, which does not
 * change.
 */
export function initializerNameOf({ cluster, name }: WorkspaceTypeRecord): string {
  return `${cluster}:${name}`;
}

/** The path of a type, for messages. */
export function typePathOf({ path, name }: WorkspaceTypeRecord): string {
  return `${path}:${name}`;
}

export function initializersOf({ aliases }: ResolvedType): readonly string[] {
  const ids = aliases.filter(({ hasInitializer }) => hasInitializer).map(initializerNameOf);
  return aliases.some(({ defaultBindings }) => defaultBindings.length > 0)
    ? [...ids, bindingsInitializer]
    : ids;
}

/** The default bindings of a type and all types that it extends, each once. */
export function defaultBindingsOf({
  aliases,
}: Pick<ResolvedType, "aliases">): readonly DefaultBinding[] {
  const found = new Map<string, DefaultBinding>();
  for (const { defaultBindings } of aliases)
    for (const one of defaultBindings) found.set(`${one.path}:${one.export}`, one);
  return [...found.values()];
}

/** The default bindings of those types that maintain them. */
export function maintainedBindingsOf({ aliases }: ResolvedType): readonly DefaultBinding[] {
  return defaultBindingsOf({ aliases: aliases.filter((one) => one.maintainsBindings) });
}

export function terminatorsOf({ aliases }: ResolvedType): readonly string[] {
  return aliases.filter(({ hasTerminator }) => hasTerminator).map(initializerNameOf);
}

/**
 * The reason why a workspace of one type is not allowed below one of the other; undefined when it
 * is.
 */
export function placementError(
  child: ResolvedType,
  parent: ResolvedType | undefined,
): string | undefined {
  const parentNames = parent === undefined ? [] : parent.aliases.map(typePathOf);
  const childNames = child.aliases.map(typePathOf);
  const parentName = parent === undefined ? "" : typePathOf(parent.type);
  for (const alias of child.aliases) {
    const limit = alias.allowedParents;
    if (limit?.none === true) return `workspace type ${typePathOf(alias)} cannot have any parent`;
    if (limit !== undefined && !isMet(limit, parentNames))
      return `workspace type ${typePathOf(alias)} only allows [${namesIn(limit)}] parent workspaces, but parent type ${parentName} only implements [${parentNames.join(" ")}]`;
  }
  for (const alias of parent?.aliases ?? []) {
    const limit = alias.allowedChildren;
    if (limit?.none === true) return `workspace type ${typePathOf(alias)} cannot have any children`;
    if (limit !== undefined && !isMet(limit, childNames))
      return `workspace type ${typePathOf(alias)} only allows [${namesIn(limit)}] child workspaces, but child type ${typePathOf(child.type)} only implements [${childNames.join(" ")}]`;
  }
  return undefined;
}

function isMet(limit: TypeLimit, names: readonly string[]): boolean {
  return limit.types.some(({ path, name }) => names.includes(`${path}:${name}`));
}

function namesIn({ types }: TypeLimit): string {
  return types.map(({ path, name }) => `${path}:${name}`).join(" ");
}
