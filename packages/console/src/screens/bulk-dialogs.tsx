/** What is done with all objects that are selected in a list. */
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import type { LiveTableRow } from "@kcp-ts/sdk/informer";
import { useState } from "preact/hooks";
import { Dialog, ErrorNotice, KubectlLine, shellLine } from "../elements/index.ts";
import { useSession } from "../session/index.ts";
import { parseLabelChanges } from "./decisions.ts";

interface BulkDialogProps {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly rows: readonly LiveTableRow[];
  readonly onClose: () => void;
}

/** One by one: the server is not flooded. Closes when all are done, and shows what failed. */
function useBulk({ rows, onClose }: BulkDialogProps, act: (row: LiveTableRow) => Promise<unknown>) {
  const [errors, setErrors] = useState<readonly unknown[]>([]);
  const [done, setDone] = useState<number | undefined>(undefined);
  const run = async () => {
    const failed: unknown[] = [];
    for (const [at, row] of rows.entries()) {
      setDone(at);
      await act(row).catch((error: unknown) => failed.push(error));
    }
    setDone(undefined);
    if (failed.length === 0) onClose();
    else setErrors(failed);
  };
  const start = () => {
    run().catch((error: unknown) => setErrors([error]));
  };
  return { errors, done, start };
}

const namedMax = 20;

function Names({ rows }: { readonly rows: readonly LiveTableRow[] }) {
  return (
    <>
      <ul class="names">
        {rows.slice(0, namedMax).map(({ key, metadata }) => (
          <li key={key}>
            <bdi>{[metadata.namespace, metadata.name].filter(Boolean).join("/")}</bdi>
          </li>
        ))}
      </ul>
      {rows.length > namedMax ? <p>{`and ${rows.length - namedMax} more`}</p> : null}
    </>
  );
}

function Outcome({
  errors,
  done,
  of,
}: {
  errors: readonly unknown[];
  done?: number | undefined;
  of: number;
}) {
  return (
    <>
      {done === undefined ? null : <p role="status">{`${done} of ${of} are done…`}</p>}
      {errors.map((error, at) => (
        <ErrorNotice key={at} error={error} />
      ))}
    </>
  );
}

export function DeleteSelected(props: BulkDialogProps) {
  const { cluster, resource, rows, onClose } = props;
  const objects = useSession().clientIn(cluster).resource(resource);
  const { errors, done, start } = useBulk(props, ({ metadata: { name, namespace, uid } }) =>
    // The object as it was seen, not a later one of its name.
    objects.delete({ name, namespace }, uid === undefined ? {} : { preconditions: { uid } }),
  );
  return (
    <Dialog title={`Delete ${rows.length} ${resource.resource}`} onClose={onClose}>
      <Names rows={rows} />
      <Outcome errors={errors} done={done} of={rows.length} />
      <footer>
        <button type="button" class="danger" disabled={done !== undefined} onClick={start}>
          Delete
        </button>
      </footer>
    </Dialog>
  );
}

export function LabelSelected(props: BulkDialogProps) {
  const { cluster, resource, rows, onClose } = props;
  const objects = useSession().clientIn(cluster).resource(resource);
  const [text, setText] = useState("");
  const labels = parseLabelChanges(text);
  const { errors, done, start } = useBulk(props, ({ metadata: { name, namespace } }) =>
    objects.patch({ name, namespace }, { type: "merge", patch: { metadata: { labels } } as never }),
  );
  return (
    <Dialog title={`Label ${rows.length} ${resource.resource}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <label>
          Labels: tier=web sets one, tier- removes it
          <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <Names rows={rows} />
        <Outcome errors={errors} done={done} of={rows.length} />
        <KubectlLine
          line={shellLine`kubectl label ${resource.singular} ${rows[0]?.metadata.name ?? ""} ${text.split(/[\s,]+/).filter((part) => part !== "")}`}
        />
        <footer>
          <button
            type="submit"
            class="primary"
            disabled={labels === undefined || done !== undefined}
          >
            Label
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
