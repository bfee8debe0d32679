/**
 * A resource as a virtual workspace serves it: a subset of its objects, a subset of its verbs, and
 * with validation of its own.
 */
import type {
  CollectionKey,
  Draft,
  OpenApiSource,
  ResourceDefinition,
  Strategy,
  SubresourceStrategy,
  VersionCodec,
  WriteContext,
} from "@kcp-ts/apiserver/registry";
import type { Entry } from "@kcp-ts/apiserver/storage";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface Restriction {
  readonly verbs?: readonly string[];
  readonly isVisible?: ((entry: Entry) => boolean) | undefined;
  readonly wasVisible?: ((entry: Entry) => boolean) | undefined;
  /** Whether a visible object may be written; all of them if omitted. */
  readonly isWritable?: ((entry: Entry) => boolean) | undefined;
  readonly entersAsModified?: boolean | undefined;
  /**
   * Adds to every written object the labels that make it visible; throws when they cannot be added.
   */
  readonly prepare?: ((draft: Draft, old: JsonObject | undefined) => void) | undefined;
  /** Throws to reject a write; called before `prepare`, and may read from the store. */
  readonly prevalidate?: Strategy["prevalidate"] | undefined;
  /** The reason why a visible object may not be deleted; undefined when it may. */
  readonly deletionRefusal?: ((object: JsonObject) => string | undefined) | undefined;
  /** The label of objects that the user of the view may write without validation. */
  readonly copyLabel?: string | undefined;
  /** Replaces the status subresource, with all its verbs. */
  readonly status?: SubresourceStrategy | undefined;
  readonly onRetired?: ((callback: () => void) => () => void) | undefined;
  readonly sourceCluster?: ClusterName | undefined;
  /** Replaces the codec of the base, which converts stored bytes to served ones. */
  readonly codec?: VersionCodec | undefined;
}

export class RestrictedDefinition implements ResourceDefinition {
  readonly #base: ResourceDefinition;
  readonly #restriction: Restriction;
  #strategy: Strategy | undefined;
  #subresources: ReadonlyMap<string, SubresourceStrategy> | undefined;

  constructor(base: ResourceDefinition, restriction: Restriction) {
    this.#base = base;
    this.#restriction = restriction;
  }

  get group(): string {
    return this.#base.group;
  }
  get version(): string {
    return this.#base.version;
  }
  get resource(): string {
    return this.#base.resource;
  }
  get singular(): string {
    return this.#base.singular;
  }
  get kind(): string {
    return this.#base.kind;
  }
  get listKind(): string {
    return this.#base.listKind;
  }
  get isNamespaced(): boolean {
    return this.#base.isNamespaced;
  }
  get shortNames(): readonly string[] {
    return this.#base.shortNames;
  }
  get categories(): readonly string[] {
    return this.#base.categories;
  }
  get verbs(): readonly string[] {
    return this.#restriction.verbs ?? this.#base.verbs;
  }
  get identity(): string {
    return this.#base.identity;
  }
  get itemsCarryKind(): boolean {
    return this.#base.itemsCarryKind;
  }
  get storageVersion(): string {
    return this.#base.storageVersion ?? this.#base.version;
  }
  get codec(): VersionCodec | undefined {
    return this.#restriction.codec ?? this.#base.codec;
  }
  get sourceCluster(): ClusterName | undefined {
    return this.#restriction.sourceCluster ?? this.#base.sourceCluster;
  }
  get waitsForOwnWrite(): boolean {
    return this.#base.waitsForOwnWrite === true;
  }
  get warnings(): readonly string[] | undefined {
    return this.#base.warnings;
  }
  get creationForbidden(): string | undefined {
    return this.#base.creationForbidden;
  }
  get storedAs(): CollectionKey {
    const { group, resource, identity, storedAs } = this.#base;
    return storedAs ?? { group, resource, identity };
  }
  get openApi(): OpenApiSource {
    return this.#base.openApi as OpenApiSource;
  }
  get prerequisites() {
    return this.#base.prerequisites as NonNullable<ResourceDefinition["prerequisites"]>;
  }
  get isVisible(): ((entry: Entry) => boolean) | undefined {
    return both(this.#base.isVisible, this.#restriction.isVisible);
  }
  get wasVisible(): ((entry: Entry) => boolean) | undefined {
    const [base, own] = [this.#base, this.#restriction];
    if (base.wasVisible === undefined && own.wasVisible === undefined) return undefined;
    return both(base.wasVisible ?? base.isVisible, own.wasVisible ?? own.isVisible);
  }
  get isWritable(): ((entry: Entry) => boolean) | undefined {
    return both(this.#base.isWritable, this.#restriction.isWritable);
  }
  get entersAsModified(): boolean | undefined {
    return this.#restriction.entersAsModified ?? this.#base.entersAsModified;
  }
  get onRetired(): (callback: () => void) => () => void {
    return this.#restriction.onRetired ?? this.#base.onRetired ?? never;
  }

  get strategy(): Strategy {
    this.#strategy ??= this.#prepared();
    return this.#strategy;
  }

  /**
   * The only visible subresource is `status`, and its write verbs require those of the main
   * resource.
   */
  get subresources(): ReadonlyMap<string, SubresourceStrategy> {
    if (this.#subresources !== undefined) return this.#subresources;
    const { status: own } = this.#restriction;
    const status = own ?? this.#base.subresources.get("status");
    const verbs = own?.verbs ?? status?.verbs.filter((verb) => this.verbs.includes(verb));
    this.#subresources =
      status === undefined || verbs === undefined
        ? new Map()
        : new Map([["status", this.#preparedStatus({ ...status, verbs })]]);
    return this.#subresources;
  }

  /** A status write can change labels and owner references as well. */
  #preparedStatus(status: SubresourceStrategy): SubresourceStrategy {
    const { prepare, prevalidate } = this.#restriction;
    if (prepare === undefined) return status;
    return {
      ...status,
      ...(prevalidate === undefined ? {} : { prevalidate }),
      prepareForUpdate(draft, old, context) {
        status.prepareForUpdate(draft, old, context);
        prepare(draft, old);
      },
    };
  }

  #prepared(): Strategy {
    const { strategy } = this.#base;
    const { prepare, prevalidate, deletionRefusal, copyLabel } = this.#restriction;
    if (prepare === undefined && deletionRefusal === undefined) return strategy;
    const own: Partial<Strategy> = {
      prevalidate(draft, old, address) {
        const judged = prevalidate?.(draft, old, address);
        const ahead = () => strategy.prevalidate?.(draft, old, address);
        return judged === undefined ? ahead() : judged.then(ahead);
      },
      prepareForCreate(draft, context) {
        strategy.prepareForCreate(draft, context);
        prepare?.(draft, undefined);
      },
      prepareForUpdate(draft, old, context) {
        strategy.prepareForUpdate(draft, old, context);
        prepare?.(draft, old);
      },
      validate: (object, context) => strategy.validate(object, asCopies(context, copyLabel)),
      validateUpdate: (updated, old, context) =>
        strategy.validateUpdate(updated, old, asCopies(context, copyLabel)),
      deletionRefusal: (object) => strategy.deletionRefusal?.(object) ?? deletionRefusal?.(object),
    };
    return Object.defineProperties(
      {},
      { ...Object.getOwnPropertyDescriptors(strategy), ...Object.getOwnPropertyDescriptors(own) },
    ) as Strategy;
  }
}

/** The context of a write in a view whose user may write such copies. */
export function asCopies(
  context: WriteContext | undefined,
  copyLabel: string | undefined,
): WriteContext | undefined {
  return context === undefined || copyLabel === undefined ? context : { ...context, copyLabel };
}

type Judge = (entry: Entry) => boolean;

/** An object of a resource that is restricted twice must pass both filters. */
function both(one: Judge | undefined, other: Judge | undefined): Judge | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (entry) => one(entry) && other(entry);
}

function never(): () => void {
  return () => {};
}
