-- One sitting of a person with Neovim and no plugin: what they do, and what they see, as JSON in the file $RESULT.
local seen = { prompts = {}, messages = {}, progress = {} }
local python, root, file = os.getenv("PYTHON"), os.getenv("ROOT"), os.getenv("FILE")

-- The person: reads the question and takes the first answer.
vim.fn.inputlist = function(lines)
  table.insert(seen.prompts, lines)
  return 1
end
vim.lsp.handlers["window/showMessage"] = function(_, result)
  table.insert(seen.messages, result.message)
end
local progress = vim.lsp.handlers["$/progress"]
vim.lsp.handlers["$/progress"] = function(error, result, context, config)
  table.insert(seen.progress, result.value.kind)
  return progress(error, result, context, config)
end

local function wait(what, condition)
  assert(vim.wait(60000, condition, 20), "waited in vain for " .. what)
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function main()
  vim.cmd("edit " .. vim.fn.fnameescape(file))
  local id = vim.lsp.start_client({ name = "ensign", cmd = { python, "-m", "ensign", "serve", "--stdio" }, root_dir = root })
  vim.lsp.buf_attach_client(0, id)
  local client = vim.lsp.get_client_by_id(id)
  wait("the server", function() return client.server_capabilities ~= nil and client.initialized end)

  -- Text that is only in the buffer. A script has no keystrokes to end an undo step; setting this option does.
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "unsaved = '😋' + old_name" })
  vim.cmd("let &undolevels = &undolevels")

  -- The code action on the symbol under the cursor.
  vim.api.nvim_win_set_cursor(0, { 1, 6 })
  local params = vim.lsp.util.make_range_params()
  params.context = { diagnostics = vim.empty_dict() }
  local actions = assert(client.request_sync("textDocument/codeAction", params, 30000, 0)).result
  seen.actions = vim.tbl_map(function(action) return action.title end, actions)
  local function execute(command)
    local answer = assert(client.request_sync("workspace/executeCommand", command, 30000, 0))
    assert(answer.err == nil, vim.inspect(answer.err))
    return answer.result
  end
  local explore = actions[1].command
  seen.explored = execute(type(explore) == "table" and explore or actions[1]).taskId ~= nil
  wait("the report", function() return #seen.messages == 1 or vim.api.nvim_buf_get_name(0) ~= file end)
  vim.cmd("buffer " .. vim.fn.fnameescape(file))

  -- An edit of the buffer that holds unsaved text.
  execute({
    command = "ensign.server.ask",
    arguments = { { uri = vim.uri_from_bufnr(0), prompt = "replace `'😋' + old_name` with `new_name` in " .. file } },
  })
  wait("the edit", function() return text():find("new_name", 1, true) ~= nil end)
  seen.edited, seen.modified = text(), vim.bo.modified
  seen.disk = table.concat(vim.fn.readfile(file), "\n")
  vim.cmd("undo")
  seen.undone = text()

  execute({ command = "ensign.server.tasks" })
  wait("the list", function() return vim.tbl_count(vim.tbl_filter(function(m) return m:find("general%-purpose") end, seen.messages)) > 0 end)
  vim.lsp.stop_client(id)
  wait("the end", function() return client.is_stopped() end)
end

local ok, problem = xpcall(main, debug.traceback)
if not ok then seen.problem = problem end
vim.fn.writefile({ vim.json.encode(seen) }, os.getenv("RESULT"))
vim.cmd("qall!")
