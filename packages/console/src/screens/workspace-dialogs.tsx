/** Creating a workspace, and deleting one with all that is in it. */
import { workspaces, workspaceTypes } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { Dialog, ErrorNotice, KubectlLine, Loading, shellLine } from "../elements/index.ts";
import { accessTo, useLoaded, useResources } from "../live/index.ts";
import { formatRoute, goTo } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { ActionButton } from "./action-button.tsx";
import { type Counted, countObjects } from "./count-objects.ts";

interface DialogProps {
  readonly cluster: string;
  readonly onClose: () => void;
}

export function CreateWorkspace({ cluster, onClose }: DialogProps) {
  const client = useSession().clientIn(cluster);
  const [name, setName] = useState("");
  const [type, setType] = useState("");
  const [error, setError] = useState<unknown>();
  const types = useTypes(cluster);
  const submit = (event: Event) => {
    event.preventDefault();
    const typePath = type.includes(":") ? type.slice(0, type.lastIndexOf(":")) : "root";
    const typeName = type.slice(type.lastIndexOf(":") + 1);
    const spec = type === "" ? {} : { type: { name: typeName, path: typePath } };
    client
      .resource(workspaces)
      .create({ metadata: { name }, spec })
      .then(() => {
        onClose();
        goTo(formatRoute({ screen: "workspace", cluster: `${cluster}:${name}` }));
      }, setError);
  };
  const typeFlags = type === "" ? [] : ["--type", type.includes(":") ? type : `root:${type}`];
  return (
    <Dialog title="Create workspace" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          Name
          <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Type; the default of the parent if empty
          <input
            list="workspace-types"
            value={type}
            onInput={(event) => setType(event.currentTarget.value.trim())}
          />
        </label>
        <datalist id="workspace-types">
          {types.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        {error === undefined ? null : <ErrorNotice error={error} />}
        <KubectlLine line={shellLine`kubectl ws create ${name || "my-team"} ${typeFlags}`} />
        <footer>
          <ActionButton
            client={client}
            access={accessTo(workspaces, "create")}
            type="submit"
            class="primary"
          >
            Create
          </ActionButton>
        </footer>
      </form>
    </Dialog>
  );
}

/** Types of root, and of the workspace itself, that the user may see. */
function useTypes(cluster: string): readonly string[] {
  const session = useSession();
  const { result } = useLoaded(async (signal) => {
    const places = [...new Set(["root", cluster])];
    const found = places.map(async (path) => {
      const { items } = await session
        .clientIn(path)
        .resource(workspaceTypes)
        .listMetadata({ limit: 500, signal })
        // Types that the user may not see can still be typed.
        .catch(() => ({ items: [] }));
      return items.map(({ metadata }) => `${path}:${metadata.name}`);
    });
    return (await Promise.all(found)).flat();
  }, cluster);
  return result ?? [];
}

/** What goes along is counted first, and the name is typed. */
export function DeleteWorkspace({
  cluster,
  name,
  onClose,
}: DialogProps & { readonly name: string }) {
  const session = useSession();
  const path = `${cluster}:${name}`;
  const [typed, setTyped] = useState("");
  const [refusal, setRefusal] = useState<unknown>();
  const inside = session.clientIn(path);
  const kinds = useResources(inside);
  const contents = useLoaded(
    (signal) => countObjects(inside, kinds.result ?? [], signal),
    kinds.result === undefined ? undefined : path,
  );
  const error = kinds.error ?? contents.error;
  const remove = (event: Event) => {
    event.preventDefault();
    const resource = session.clientIn(cluster).resource(workspaces);
    resource.delete({ name }).then(() => {
      onClose();
      goTo(formatRoute({ screen: "workspace", cluster }));
    }, setRefusal);
  };
  return (
    <Dialog title={`Delete workspace ${path}`} onClose={onClose}>
      <form onSubmit={remove}>
        {contents.result === undefined && error === undefined ? (
          <Loading what="what is in it" />
        ) : (
          <p>{`All that is in it is deleted with it. ${contentsText(contents.result)}`}</p>
        )}
        <label>
          {`Type ${name} to delete it`}
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        {refusal === undefined ? null : <ErrorNotice error={refusal} />}
        <KubectlLine line={shellLine`kubectl delete workspace ${name}`} />
        <footer>
          <ActionButton
            client={session.clientIn(cluster)}
            access={accessTo(workspaces, "delete", { name })}
            type="submit"
            class="danger"
            isReady={typed === name}
          >
            Delete
          </ActionButton>
        </footer>
      </form>
    </Dialog>
  );
}

const namedMax = 8;

/** Workspaces first: each of them takes along what is in it. */
function contentsText(counted: readonly Counted[] | undefined): string {
  if (counted === undefined) return "What that is, you may not see.";
  const present = counted.filter(({ count = 0 }) => count > 0);
  const children = present.find(({ name }) => name === "workspaces.tenancy.kcp.io")?.count ?? 0;
  const objects = present.reduce((sum, { count = 0 }) => sum + count, -children);
  const named = present
    .filter(({ name }) => name !== "workspaces.tenancy.kcp.io")
    .slice(0, namedMax)
    .map(({ name, count }) => `${count} ${name}`);
  return `These are ${children} child workspaces with what is in them, and ${objects} objects: ${named.join(", ")}${present.length > namedMax ? " and others" : ""}.`;
}
