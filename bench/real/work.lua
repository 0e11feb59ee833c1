-- lua: tables, closures and strings, which Lua allocates and frees one by one; prints one checksum.
-- usage: work.lua ROUNDS

local function words(count)
    local list = {}
    for i = 1, count do
        list[i] = "w" .. (i * 7919 % 10007) .. string.rep("x", i % 40)
    end
    return list
end

local function tree(depth)
    if depth == 0 then
        return { weight = 1 }
    end
    local left, right = tree(depth - 1), tree(depth - 1)
    return { left = left, right = right, weight = left.weight + right.weight }
end

local check = 0
for _ = 1, tonumber(arg[1]) do
    local groups, lines = {}, {}
    for _, word in ipairs(words(15000)) do
        local key = word:sub(1, 5)
        groups[key] = groups[key] or {}
        table.insert(groups[key], word)
    end
    for _, group in pairs(groups) do
        table.sort(group)
        lines[#lines + 1] = table.concat(group, " "):gsub("x+", "-")
    end
    check = check + #table.concat(lines, "\n") + tree(13).weight
end
print(check)
