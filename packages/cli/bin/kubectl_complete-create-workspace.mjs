#!/usr/bin/env node
import { programs } from "./bundle.mjs";

programs.completeCreateWorkspace(process.argv);
