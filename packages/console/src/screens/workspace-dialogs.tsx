/** Creating a workspace, and deleting one with all that is in it. */
import { workspaces } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { Dialog, ErrorNotice, KubectlLine, Loading } from "../elements/index.ts";
import { useLoaded } from "../live/index.ts";
import { formatRoute, goTo } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";

interface DialogProps {
  readonly cluster: string;
  readonly onClose: () => void;
}

export function CreateWorkspace({ cluster, onClose }: DialogProps) {
  const client = useSession().clientIn(cluster);
  const [name, setName] = useState("");
  const [type, setType] = useState("");
  const [error, setError] = useState<unknown>();
  const submit = (event: Event) => {
    event.preventDefault();
    const spec = type === "" ? {} : { type: { name: type, path: "root" } };
    client
      .resource(workspaces)
      .create({ metadata: { name }, spec })
      .then(() => {
        onClose();
        goTo(formatRoute({ screen: "workspace", cluster: `${cluster}:${name}` }));
      }, setError);
  };
  const typeFlag = type === "" ? "" : ` --type root:${type}`;
  return (
    <Dialog title="Create workspace" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          Name
          <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Type, of root; the default of the parent if empty
          <input value={type} onInput={(event) => setType(event.currentTarget.value)} />
        </label>
        {error === undefined ? null : <ErrorNotice error={error} />}
        <KubectlLine line={`kubectl ws create ${name || "my-team"}${typeFlag}`} />
        <footer>
          <button type="submit" class="primary">
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  );
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
  const [error, setError] = useState<unknown>();
  const contents = useLoaded(async (signal) => {
    const list = { limit: 1, signal };
    const inside = await session.clientIn(path).resource(workspaces).listMetadata(list);
    return inside.items.length + (inside.metadata.remainingItemCount ?? 0);
  }, path);
  const remove = (event: Event) => {
    event.preventDefault();
    const resource = session.clientIn(cluster).resource(workspaces);
    resource.delete({ name }).then(() => {
      onClose();
      goTo(formatRoute({ screen: "workspace", cluster }));
    }, setError);
  };
  return (
    <Dialog title={`Delete workspace ${path}`} onClose={onClose}>
      <form onSubmit={remove}>
        {contents.result === undefined && contents.error === undefined ? (
          <Loading what="what is in it" />
        ) : (
          <p>
            {contents.result === undefined
              ? "All that is in it is deleted with it. What that is, you may not see."
              : `All that is in it is deleted with it: ${contents.result} child workspaces and every object.`}
          </p>
        )}
        <label>
          {`Type ${name} to delete it`}
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        {error === undefined ? null : <ErrorNotice error={error} />}
        <KubectlLine line={`kubectl delete workspace ${name}`} />
        <footer>
          <button type="submit" class="danger" disabled={typed !== name}>
            Delete
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
