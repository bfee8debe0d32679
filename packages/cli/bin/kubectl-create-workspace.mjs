#!/usr/bin/env node
import { programs } from "./bundle.mjs";

await programs.createWorkspaceMain(process.argv);
