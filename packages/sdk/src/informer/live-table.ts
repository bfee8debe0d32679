/**
 * LiveTable: the server's table of one resource, page by page, which stays in sync: what `kubectl
 * get --watch` prints, for a page that shows it.
 *
 * Only the pages that were asked for are loaded, unless all are wanted. Changes of objects on later
 * pages are remembered until their page is loaded: pages of one list show its version, and not the
 * newest one.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  clusterAnnotation,
  type KubernetesObject,
  type ObjectMeta,
  type Resource,
  type ResourceClient,
  type SelectorOptions,
  stringMember,
  type Table,
  type TableColumn,
  type WatchEvent,
} from "../client/index.ts";
import { WatchListUnsupportedError } from "./failure.ts";
import {
  type InformerHealth,
  type ListerWatcher,
  type ListStateOptions,
  Reflector,
  type WatchStreamOptions,
} from "./reflector.ts";
import { WatchReader } from "./watch-reader.ts";

export interface LiveTableOptions {
  readonly client: Client;
  readonly resource: Resource;
  readonly selector?: SelectorOptions | undefined;
  /** Rows per request. */
  readonly pageSize?: number | undefined;
  /** All pages are loaded, and not only those that are asked for. */
  readonly loadsAll?: boolean | undefined;
  /** What of its object each row has besides the cells; metadata if omitted. */
  readonly includeObject?: "Metadata" | "Object" | undefined;
  /** Called after every change of columns, rows or health. Calls are not combined. */
  readonly onChange: () => void;
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface LiveTableRow {
  /** Of cluster, namespace and name: in the order of the server's lists. */
  readonly key: string;
  readonly cells: readonly JsonValue[];
  readonly metadata: ObjectMeta;
  /** All of it with `includeObject: "Object"`, and its metadata otherwise. */
  readonly object?: KubernetesObject | undefined;
}

type TableEvent = WatchEvent<Table & KubernetesObject>;

const pageSizeDefault = 500;
/** More changes on pages that are not loaded are not remembered: the table is listed again. */
const laterChangesMax = 5000;

export class LiveTable implements ListerWatcher {
  readonly #options: LiveTableOptions;
  readonly #resource: ResourceClient<KubernetesObject>;
  readonly #reader: WatchReader<Table & KubernetesObject>;
  readonly #reflector: Reflector;
  readonly #pageSize: number;
  readonly #includeObject: "Metadata" | "Object";
  #columns: readonly TableColumn[] = [];
  #rows: LiveTableRow[] = [];
  /** The newest state of objects behind the last loaded row; undefined for deleted ones. */
  #later = new Map<string, LiveTableRow | undefined>();
  #continue = "";
  #remaining = 0;
  /** How many rows a new list loads. */
  #wanted: number;
  #loading: Promise<void> | undefined;
  #lists = 0;
  #count = 0;

  constructor(options: LiveTableOptions) {
    this.#options = options;
    this.#resource = options.client.resource(options.resource);
    this.#pageSize = options.pageSize ?? pageSizeDefault;
    this.#includeObject = options.includeObject ?? "Metadata";
    this.#wanted = options.loadsAll === true ? Number.POSITIVE_INFINITY : this.#pageSize;
    const { clock, random } = options.client;
    const report = (error: unknown) => {
      options.onError?.(error);
      options.onChange();
    };
    const resource: Pick<ResourceClient<Table & KubernetesObject>, "watchBatches"> = {
      watchBatches: (watch) =>
        this.#resource.watchTables({ ...watch, includeObject: this.#includeObject }),
    };
    const { selector } = options;
    this.#reader = new WatchReader({ resource, selector, onUnreadable: report, clock, random });
    this.#reflector = new Reflector({
      listerWatcher: this,
      method: "pages",
      connectivity: options.client.connectivity,
      clock,
      random,
      report,
    });
  }

  get columns(): readonly TableColumn[] {
    return this.#columns;
  }

  /** The loaded rows, in the order of their keys. A changed row is a new object. */
  get rows(): readonly LiveTableRow[] {
    return this.#rows;
  }

  /** About how many rows are not loaded; `loadMore` loads a page of them. */
  get remaining(): number {
    return this.#continue === "" ? 0 : Math.max(1, this.#remaining);
  }

  get health(): InformerHealth {
    return this.#reflector.health;
  }

  /** Runs until the signal aborts, and resolves then; no failure ends it. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** Loads the next page. A page that has expired leads to a new list of one page more. */
  async loadMore(signal?: AbortSignal): Promise<void> {
    if (this.#continue === "") return;
    this.#loading ??= this.#loadPage(signal).finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  async list({ signal }: ListStateOptions): Promise<string> {
    const { selector } = this.#options;
    const limit = this.#pageSize;
    const options = {
      ...selector,
      signal,
      retriesMax: 0,
      limit,
      includeObject: this.#includeObject,
    } as const;
    let page = await this.#resource.table(options);
    const rows = rowsOf(page);
    this.#lists++;
    while (page.metadata.continue && rows.length < this.#wanted) {
      // The first page is shown before the others arrive.
      if (this.#rows.length === 0) this.#replace(page, rows);
      page = await this.#resource.table({ ...options, continue: page.metadata.continue });
      rows.push(...rowsOf(page));
    }
    this.#later.clear();
    this.#replace(page, rows);
    this.#count += rows.length;
    return page.metadata.resourceVersion ?? "";
  }

  /** Tables are fetched in pages. */
  async stream(): Promise<void> {
    throw new WatchListUnsupportedError("tables are fetched in pages");
  }

  async watch({
    signal,
    dispatch,
    resourceVersion,
    onOpened,
  }: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void> {
    await this.#reader.watch({
      signal,
      resourceVersion,
      onOpen: () => {
        onOpened();
        this.#options.onChange();
      },
      changes: (events) => {
        for (const event of events) {
          this.#apply(event);
          const version = versionOf(event);
          if (version !== undefined) dispatch({ type: "progress", resourceVersion: version });
        }
        this.#options.onChange();
      },
    });
  }

  takeCount(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  async #loadPage(signal: AbortSignal | undefined): Promise<void> {
    const list = this.#lists;
    const { selector } = this.#options;
    const limit = this.#pageSize;
    const includeObject = this.#includeObject;
    const page = { limit, continue: this.#continue, includeObject };
    try {
      const table = await this.#resource.table({ ...selector, ...page, signal });
      // A list that began meanwhile knows more than this page.
      if (list !== this.#lists) return;
      for (const row of rowsOf(table)) {
        const changed = this.#later.get(row.key);
        if (changed !== undefined) this.#rows.push(changed);
        else if (!this.#later.has(row.key)) this.#rows.push(row);
        this.#later.delete(row.key);
      }
      this.#setPage(table);
      this.#insertPassed();
    } catch (error) {
      if (!isStatusError(error) || error.code !== 410) throw error;
      this.#reflector.resync();
    } finally {
      this.#wanted = Math.max(this.#wanted, this.#rows.length + limit);
    }
    this.#options.onChange();
  }

  /** Objects that were created behind the last row, and are in front of it now. */
  #insertPassed(): void {
    const last = this.#rows.at(-1)?.key ?? "";
    for (const [key, row] of this.#later) {
      if (this.#continue !== "" && key > last) continue;
      this.#later.delete(key);
      if (row !== undefined) this.#put(row);
    }
  }

  #replace(page: Table, rows: LiveTableRow[]): void {
    this.#rows = rows;
    this.#setPage(page);
    this.#options.onChange();
  }

  #setPage({ columnDefinitions, metadata }: Table): void {
    if (columnDefinitions.length > 0) this.#columns = columnDefinitions;
    this.#continue = metadata.continue ?? "";
    this.#remaining = metadata.remainingItemCount ?? 0;
  }

  #apply(event: TableEvent): void {
    this.#count++;
    if (event.type === "BOOKMARK") return;
    if (event.object.columnDefinitions?.length > 0) this.#columns = event.object.columnDefinitions;
    for (const row of rowsOf(event.object)) {
      const isDeleted = event.type === "DELETED";
      if (this.#continue !== "" && row.key > (this.#rows.at(-1)?.key ?? "")) {
        this.#later.set(row.key, isDeleted ? undefined : row);
        if (this.#later.size > laterChangesMax) this.#reflector.resync();
      } else if (isDeleted) this.#remove(row.key);
      else this.#put(row);
    }
  }

  #put(row: LiveTableRow): void {
    const at = this.#position(row.key);
    const isKnown = this.#rows[at]?.key === row.key;
    this.#rows.splice(at, isKnown ? 1 : 0, row);
  }

  #remove(key: string): void {
    const at = this.#position(key);
    if (this.#rows[at]?.key === key) this.#rows.splice(at, 1);
  }

  /** The index of the first row whose key is not less. */
  #position(key: string): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle] as LiveTableRow).key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function rowsOf({ rows }: Table): LiveTableRow[] {
  return (rows ?? []).flatMap(({ cells, object }) => {
    const metadata = object?.metadata;
    if (metadata?.name === undefined) return [];
    const cluster = stringMember(metadata.annotations, clusterAnnotation) ?? "";
    const key = `${cluster}/${metadata.namespace ?? ""}/${metadata.name}`;
    return [{ key, cells, metadata, object }];
  });
}

/** The version of a bookmark is that of the table, or of the object of its row. */
function versionOf(event: TableEvent): string | undefined {
  const table = event.object as unknown as Table;
  const ofRow = table.rows?.[0]?.object?.metadata.resourceVersion;
  return ofRow ?? table.metadata?.resourceVersion;
}
