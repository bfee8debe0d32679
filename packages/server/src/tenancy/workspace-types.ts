/**
 * Types of workspaces: which one is meant, what it is one of, and which may be below which.
 */
import { collectionKeyOf } from "../registry/index.ts";
import { objectKey } from "../storage/index.ts";
import { workspaceTypes } from "./kinds/definitions.ts";
import type { ObjectIndex } from "./object-index.ts";
import type { DefaultBinding, TypeLimit, TypeReference, WorkspaceTypeRecord } from "./records.ts";
import type { WorkspaceTree } from "./workspace-tree.ts";

/** The one identifier that stands for no type: the default bindings of all of them. */
export const bindingsInitializer = "system:apibindings";

/** Types that one type may be at once: a chain longer than this is a mistake. */
export const aliasesMax = 100;

/** A type with everything that it is one of: those that it extends first, itself last. */
export interface ResolvedType {
  readonly type: WorkspaceTypeRecord;
  readonly aliases: readonly WorkspaceTypeRecord[];
}

/** Why a type cannot be used, in the words of a refusal. */
export class WorkspaceTypeError extends Error {}

export class WorkspaceTypes {
  readonly #types: ObjectIndex<WorkspaceTypeRecord>;
  readonly #tree: WorkspaceTree;

  constructor(types: ObjectIndex<WorkspaceTypeRecord>, tree: WorkspaceTree) {
    this.#types = types;
    this.#tree = tree;
  }

  /** Of a reference with a path: exactly there. */
  async find(path: string, name: string): Promise<WorkspaceTypeRecord | undefined> {
    const pending = this.#tree.resolveText(path);
    const found = pending instanceof Promise ? await pending : pending;
    if (found.kind !== "cluster") return undefined;
    const { cluster } = found;
    const key = objectKey({ ...collectionKeyOf(workspaceTypes), cluster, namespace: "", name });
    const type = this.#types.get(key);
    return type instanceof Promise ? await type : type;
  }

  /** Without a path: in the parent, in what is above it, in root. */
  async findFrom(
    { name, path }: TypeReference,
    parentPath: string,
  ): Promise<WorkspaceTypeRecord | undefined> {
    if (path !== undefined) return this.find(path, name);
    const words = parentPath.startsWith("system:") ? [parentPath] : parentPath.split(":");
    for (let length = words.length; length > 0; length--) {
      const found = await this.find(words.slice(0, length).join(":"), name);
      if (found !== undefined) return found;
    }
    return words[0] === "root" ? undefined : this.find("root", name);
  }

  async resolve(type: WorkspaceTypeRecord): Promise<ResolvedType> {
    const aliases = new Map<string, WorkspaceTypeRecord>();
    await this.#collect(type, aliases, []);
    return { type, aliases: [...aliases.values()] };
  }

  async #collect(
    type: WorkspaceTypeRecord,
    aliases: Map<string, WorkspaceTypeRecord>,
    above: readonly string[],
  ): Promise<void> {
    const id = idOf(type);
    if (above.includes(id)) {
      throw new WorkspaceTypeError(
        `circular dependency detected in workspace type ${nameOf(type)}: ${[...above, id].join(" -> ")}`,
      );
    }
    if (aliases.has(id)) return;
    for (const { name, path } of type.extends) {
      const extended = await this.find(path ?? type.path, name);
      if (extended === undefined)
        throw new WorkspaceTypeError(
          `workspace type "${path ?? type.path}:${name}" cannot be resolved`,
        );
      await this.#collect(extended, aliases, [...above, id]);
      if (aliases.size > aliasesMax)
        throw new WorkspaceTypeError(
          `workspace type ${nameOf(type)} extends more than ${aliasesMax} types`,
        );
    }
    aliases.set(id, type);
  }
}

/** What initializers and terminators are called: by the name of the cluster, which does not change. */
export function idOf({ cluster, name }: WorkspaceTypeRecord): string {
  return `${cluster}:${name}`;
}

/** What people call it. */
export function nameOf({ path, name }: WorkspaceTypeRecord): string {
  return `${path}:${name}`;
}

export function initializersOf({ aliases }: ResolvedType): readonly string[] {
  const ids = aliases.filter(({ hasInitializer }) => hasInitializer).map(idOf);
  return aliases.some(({ defaultBindings }) => defaultBindings.length > 0)
    ? [...ids, bindingsInitializer]
    : ids;
}

/** Of all that a type is, each once. */
export function defaultBindingsOf({
  aliases,
}: Pick<ResolvedType, "aliases">): readonly DefaultBinding[] {
  const found = new Map<string, DefaultBinding>();
  for (const { defaultBindings } of aliases)
    for (const one of defaultBindings) found.set(`${one.path}:${one.export}`, one);
  return [...found.values()];
}

/** Of those types that keep them. */
export function maintainedBindingsOf({ aliases }: ResolvedType): readonly DefaultBinding[] {
  return defaultBindingsOf({ aliases: aliases.filter((one) => one.maintainsBindings) });
}

export function terminatorsOf({ aliases }: ResolvedType): readonly string[] {
  return aliases.filter(({ hasTerminator }) => hasTerminator).map(idOf);
}

/** Why a workspace of one type may not be below one of the other; undefined when it may. */
export function placementError(
  child: ResolvedType,
  parent: ResolvedType | undefined,
): string | undefined {
  const parentNames = parent === undefined ? [] : parent.aliases.map(nameOf);
  const childNames = child.aliases.map(nameOf);
  const parentName = parent === undefined ? "" : nameOf(parent.type);
  for (const alias of child.aliases) {
    const limit = alias.allowedParents;
    if (limit?.none === true) return `workspace type ${nameOf(alias)} cannot have any parent`;
    if (limit !== undefined && !isMet(limit, parentNames))
      return `workspace type ${nameOf(alias)} only allows [${namesIn(limit)}] parent workspaces, but parent type ${parentName} only implements [${parentNames.join(" ")}]`;
  }
  for (const alias of parent?.aliases ?? []) {
    const limit = alias.allowedChildren;
    if (limit?.none === true) return `workspace type ${nameOf(alias)} cannot have any children`;
    if (limit !== undefined && !isMet(limit, childNames))
      return `workspace type ${nameOf(alias)} only allows [${namesIn(limit)}] child workspaces, but child type ${nameOf(child.type)} only implements [${childNames.join(" ")}]`;
  }
  return undefined;
}

function isMet(limit: TypeLimit, names: readonly string[]): boolean {
  return limit.types.some(({ path, name }) => names.includes(`${path}:${name}`));
}

function namesIn({ types }: TypeLimit): string {
  return types.map(({ path, name }) => `${path}:${name}`).join(" ");
}
