/** A resource as a virtual workspace shows it: some of its objects, some of its verbs, and with rules of its own for what is written. */

import type {
  CollectionKey,
  Draft,
  OpenApiSource,
  ResourceDefinition,
  Strategy,
  SubresourceStrategy,
  VersionCodec,
} from "@kcp-ts/apiserver/registry";
import type { Entry } from "@kcp-ts/apiserver/storage";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface Restriction {
  readonly verbs?: readonly string[];
  readonly isVisible?: ((entry: Entry) => boolean) | undefined;
  readonly wasVisible?: ((entry: Entry) => boolean) | undefined;
  /** Of what is visible; all of it if left out. */
  readonly isWritable?: ((entry: Entry) => boolean) | undefined;
  readonly entersModified?: boolean | undefined;
  /** Puts on every object that is written what makes it visible; throws when it cannot be. */
  readonly prepare?: ((draft: Draft, old: JsonObject | undefined) => void) | undefined;
  /** Throws when an object may not be written; asked before `prepare`, with time to look something up. */
  readonly judge?: Strategy["judgeAhead"] | undefined;
  /** Why an object that is shown may not be deleted all the same. */
  readonly deletionRefusal?: ((object: JsonObject) => string | undefined) | undefined;
  /** Stands in for the status subresource, with all its verbs. */
  readonly status?: SubresourceStrategy | undefined;
  readonly onRetired?: ((callback: () => void) => () => void) | undefined;
  readonly servedFrom?: ClusterName | undefined;
  /** Stands in for how the base turns stored bytes into served ones. */
  readonly form?: VersionCodec | undefined;
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
  get form(): VersionCodec | undefined {
    return this.#restriction.form ?? this.#base.form;
  }
  get servedFrom(): ClusterName | undefined {
    return this.#restriction.servedFrom ?? this.#base.servedFrom;
  }
  get isSeenOnAnswer(): boolean {
    return this.#base.isSeenOnAnswer === true;
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
  get companions() {
    return this.#base.companions as NonNullable<ResourceDefinition["companions"]>;
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
  get entersModified(): boolean | undefined {
    return this.#restriction.entersModified ?? this.#base.entersModified;
  }
  get onRetired(): (callback: () => void) => () => void {
    return this.#restriction.onRetired ?? this.#base.onRetired ?? never;
  }

  get strategy(): Strategy {
    this.#strategy ??= this.#prepared();
    return this.#strategy;
  }

  /** Of the subresources only `status` is shown, and it is changed only by those who may change the rest. */
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

  /** Labels and owners can be changed beside a status as well. */
  #preparedStatus(status: SubresourceStrategy): SubresourceStrategy {
    const { prepare } = this.#restriction;
    if (prepare === undefined) return status;
    return {
      ...status,
      prepareForUpdate(draft, old, context) {
        status.prepareForUpdate(draft, old, context);
        prepare(draft, old);
      },
    };
  }

  #prepared(): Strategy {
    const { strategy } = this.#base;
    const { prepare, judge, deletionRefusal } = this.#restriction;
    if (prepare === undefined && deletionRefusal === undefined) return strategy;
    type Own = "prepareForCreate" | "prepareForUpdate" | "judgeAhead" | "deletionRefusal";
    const own: Pick<Strategy, Own> = {
      judgeAhead(draft, old, address) {
        const judged = judge?.(draft, old, address);
        const ahead = () => strategy.judgeAhead?.(draft, old, address);
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
      deletionRefusal: (object) => strategy.deletionRefusal?.(object) ?? deletionRefusal?.(object),
    };
    return Object.defineProperties(
      {},
      {
        ...Object.getOwnPropertyDescriptors(strategy),
        ...Object.getOwnPropertyDescriptors(own),
      },
    ) as Strategy;
  }
}

type Judge = (entry: Entry) => boolean;

/** What is shown of a resource that is restricted already is shown by both. */
function both(one: Judge | undefined, other: Judge | undefined): Judge | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (entry) => one(entry) && other(entry);
}

function never(): () => void {
  return () => {};
}
