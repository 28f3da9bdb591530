//! Large buffers, each with memory that is made for it alone.
//!
//! wgpu asks the driver for memory and puts a buffer there. A driver that is told of the buffer, by Vulkan's
//! `VkMemoryDedicatedAllocateInfo`, can do better: NVIDIA's takes 3 ms for 2 GiB, where it takes 50 if it is not told,
//! and as long again to take them back; whatever other threads ask of the driver waits meanwhile. It seems that it maps
//! such memory in larger pages.

use ash::vk;
use wgpu::hal;

/// What no buffer of kernels is put into.
const UNUSUAL: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::LAZILY_ALLOCATED.as_raw()
        | vk::MemoryPropertyFlags::PROTECTED.as_raw()
        | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD.as_raw()
        | vk::MemoryPropertyFlags::DEVICE_UNCACHED_AMD.as_raw(),
);

/// Makes a buffer of zeros that kernels read and write, and that is copied to and from. `None` if the device is not one
/// of Vulkan 1.1 or later, or refuses: then wgpu can say why.
pub(super) fn buffer(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    descriptor: &wgpu::BufferDescriptor<'_>,
) -> Option<wgpu::Buffer> {
    // SAFETY: the handles of `made` are the buffer's alone, and its memory is what it needs.
    let buffer = unsafe {
        let made = made(&*device.as_hal::<hal::api::Vulkan>()?, descriptor.size)?;
        device.create_buffer_from_hal::<hal::api::Vulkan>(made, descriptor)
    };
    // wgpu takes what others made for filled
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.clear_buffer(&buffer, 0, None);
    queue.submit([encoder.finish()]);
    Some(buffer)
}

/// See [`buffer`]; of so many bytes.
///
/// # Safety
/// The buffer is given to `device`, which destroys it.
unsafe fn made(device: &hal::vulkan::Device, bytes: u64) -> Option<hal::vulkan::Buffer> {
    let (vulkan, instance) = (device.raw_device(), device.shared_instance().raw_instance());
    let adapter = device.raw_physical_device();
    // SAFETY: the handles are those of an open device. What is made here is destroyed where something after it fails.
    unsafe {
        if instance.get_physical_device_properties(adapter).api_version < vk::API_VERSION_1_1 {
            return None;
        }
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = vulkan.create_buffer(&vk::BufferCreateInfo::default().size(bytes).usage(usage), None).ok()?;
        let needed = vulkan.get_buffer_memory_requirements(buffer);
        let types = instance.get_physical_device_memory_properties(adapter);
        let fits = |(number, kind): &(usize, &vk::MemoryType)| {
            let flags = kind.property_flags;
            needed.memory_type_bits >> number & 1 == 1
                && flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
                && !flags.intersects(UNUSUAL)
        };
        let mut alone = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
        let info = vk::MemoryAllocateInfo::default().allocation_size(needed.size).push_next(&mut alone);
        let kind = types.memory_types_as_slice().iter().enumerate().find(fits);
        let memory = kind.and_then(|(kind, _)| vulkan.allocate_memory(&info.memory_type_index(kind as u32), None).ok());
        if memory.is_none_or(|memory| vulkan.bind_buffer_memory(buffer, memory, 0).is_err()) {
            vulkan.destroy_buffer(buffer, None);
            memory.into_iter().for_each(|memory| vulkan.free_memory(memory, None));
            return None;
        }
        memory.map(|memory| hal::vulkan::Buffer::from_raw_managed(buffer, memory, 0, needed.size))
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu::testing::gpu;
    use crate::gpu::{Download, Upload, Usage};

    #[test]
    fn test_a_large_buffer_is_made_alone_and_begins_with_zeros() {
        let Some(gpu) = gpu() else { return };
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let size = 20 << 20;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        assert!(super::buffer(&gpu.shared.device, &gpu.shared.queue, &descriptor).is_some());
        let sent: Vec<u32> = (1..).take(size as usize / 4).collect();
        // the second one may get the memory of the first
        for _ in 0..2 {
            let buffer = gpu.buffer("large", size, Usage::Storage).unwrap();
            let mut found = vec![u32::MAX; sent.len()];
            Download::default().run(&gpu, &buffer, &mut found).unwrap();
            assert!(found.iter().all(|&word| word == 0));
            Upload::default().run(&gpu, &sent, &buffer, &|_| ()).unwrap();
            Download::default().run(&gpu, &buffer, &mut found).unwrap();
            assert!(found == sent);
        }
    }
}
