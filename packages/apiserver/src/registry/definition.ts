/** A served resource: its names in the API, and the strategy behind it. */
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { UserInfo } from "../request/user.ts";
import type { Entry } from "../storage/index.ts";
import type { ComputedResource } from "./computed.ts";
import type { VersionCodec } from "./stored-form.ts";
import type { Strategy, SubresourceStrategy } from "./strategy.ts";

export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Sorted, as discovery shows them. */
  readonly verbs: readonly string[];
  /** Which owner's type this is among same-named ones; empty for built-ins. */
  readonly identity: string;
  /** Built-in list items leave out kind and apiVersion, custom ones carry them. */
  readonly itemsCarryKind: boolean;
  readonly strategy: Strategy;
  readonly subresources: ReadonlyMap<string, SubresourceStrategy>;
  /** The version that objects are stored in, where it is another one. */
  readonly storageVersion?: string;
  /** How stored bytes become served ones; absent where they are the same. */
  readonly form?: VersionCodec | undefined;
  /** A write is answered when this server itself has taken note of it: what is written decides what is served. */
  readonly isSeenOnAnswer?: boolean;
  /** A question: posted, answered, never stored. */
  readonly isReview?: boolean;
  /** Nothing of it is stored, and this says what there is. Its verbs are `get` and `list`. */
  readonly computed?: ComputedResource;
  /** Sent with every answer. */
  readonly warnings?: readonly string[] | undefined;
  /** Stands for a resource whoever defined it, of which only metadata can be told: objects of all owners are shown together. */
  readonly isAnyOwners?: boolean;
  /** Why nothing can be created at present. */
  readonly creationForbidden?: string | undefined;
  /** Calls back when the definition is replaced or withdrawn: watches end then. Returns how to stop listening. */
  readonly onRetired?: (callback: () => void) => () => void;
  /** Set when the objects are in another definition's collection, which `form` then turns into ours and back. */
  readonly storedAs?: CollectionKey;
  /** How OpenAPI describes the kind, where its shape does not: custom kinds bring schemas. Called once per definition and dialect. */
  readonly openApi?: OpenApiSource;
  /** Set when only some of the objects are shown: the others are not there for whoever asks through this definition. */
  readonly isVisible?: ((entry: Entry) => boolean) | undefined;
  /** Whether an object was shown before it changed, where that is another question. */
  readonly wasVisible?: ((entry: Entry) => boolean) | undefined;
  /** Whether an object that is shown may be changed or deleted through this definition; all of them if left out. */
  readonly isWritable?: ((entry: Entry) => boolean) | undefined;
  /** A watch tells of an object that comes to be shown as of a modified one, because it was there before. */
  readonly entersModified?: boolean | undefined;
  /** The logical cluster whose objects are read, where it is not the one that is asked. Nothing can be written then. */
  readonly servedFrom?: ClusterName | undefined;
  /** Objects that must be stored before one of this kind is. */
  readonly companions?: Prerequisites;
}

export interface Prerequisites {
  /** Stores what an object needs, when nothing is left that could refuse it. */
  make(
    object: JsonObject,
    cluster: ClusterName,
    user: UserInfo | undefined,
  ): Promise<CreatedPrerequisites | undefined>;
}

/** After a failure neither is called: it is unknown then whether the object is there, and finding out is the maker's task. */
export interface CreatedPrerequisites {
  /** The object is stored. */
  keep(): void;
  /** The object's name turned out to be taken: takes everything away again. */
  discard(): Promise<void>;
}

/** A kind's schema in one dialect, `$ref`-free, and in pieces because it may be large. apiVersion, kind, metadata and the list kind are added to it. */
export type OpenApiSource = (dialect: "v2" | "v3") => Resumable<JsonObject>;

/** The parts of a storage key that say whose collection it is. */
export interface CollectionKey {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
}

export function collectionKeyOf(definition: ResourceDefinition): CollectionKey {
  const { group, resource, identity, storedAs } = definition;
  return storedAs ?? { group, resource, identity };
}

export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}
